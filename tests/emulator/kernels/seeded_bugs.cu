// Kernels with one defect each. The line that a report must name carries the kernel's mark.
#include "cluster.cuh"
#include "grid.cuh"
#include "reduce.cuh"
#include "vector.cuh"

constexpr int kBlock = 64;

// Another warp's element is read without a barrier.
extern "C" __global__ void __launch_bounds__(kBlock)
missing_barrier(float* y) {
  float* const shared = stitch_smem<float>(0);
  shared[threadIdx.x] = static_cast<float>(threadIdx.x);  // other: missing_barrier
  y[threadIdx.x] = shared[kBlock - 1 - threadIdx.x];  // here: missing_barrier
}

// The slot of a reduction is written again while slow threads still read it.
extern "C" __global__ void __launch_bounds__(kBlock)
slot_reused(const float* x, float* y) {
  float* const slot = stitch_smem<float>(0);
  const float first = stitch_block_reduce<kBlock>(x[threadIdx.x], StitchSum(), slot);
  const float second = stitch_block_reduce<kBlock>(x[threadIdx.x] - first, StitchSum(), slot);  // here: slot_reused
  y[threadIdx.x] = second;
}

// Two blocks write one element.
extern "C" __global__ void __launch_bounds__(kBlock)
two_writers(float* y) {
  if (threadIdx.x == 3) y[0] = static_cast<float>(blockIdx.x);  // here: two_writers
}

// One thread adds atomically, another stores.
extern "C" __global__ void __launch_bounds__(kBlock)
atomic_and_plain(float* y) {
  if (threadIdx.x == 0) y[0] = 0.0f;  // other: atomic_and_plain
  if (threadIdx.x == 40) atomicAdd(y, 1.0f);  // here: atomic_and_plain
}

extern "C" __global__ void __launch_bounds__(kBlock)
reads_beyond(const float* x, float* y, int count) {
  const int index = blockIdx.x * kBlock + threadIdx.x;
  const float value = x[index];  // here: reads_beyond
  if (value >= 0.0f && index < count) y[index] = value;
}

extern "C" __global__ void __launch_bounds__(kBlock)
writes_beyond(const float* x, float* y, int count) {
  const int index = blockIdx.x * kBlock + threadIdx.x;
  const float value = index < count ? x[index] : 0.0f;
  y[index] = value;  // here: writes_beyond
}

extern "C" __global__ void __launch_bounds__(kBlock)
beyond_shared(float* y) {
  float* const shared = stitch_smem<float>(0);
  shared[threadIdx.x + 1] = 1.0f;  // here: beyond_shared
  __syncthreads();
  y[threadIdx.x] = shared[threadIdx.x + 1];
}

extern "C" __global__ void __launch_bounds__(kBlock)
undefined_shared(float* y) {
  float* const shared = stitch_smem<float>(0);
  if (threadIdx.x < 32) shared[threadIdx.x] = 1.0f;
  __syncthreads();
  y[threadIdx.x] = shared[threadIdx.x];  // here: undefined_shared
}

extern "C" __global__ void __launch_bounds__(kBlock)
undefined_scratch(const float* scratch, float* y) {
  y[threadIdx.x] = scratch[threadIdx.x];  // here: undefined_scratch
}

extern "C" __global__ void __launch_bounds__(kBlock)
divergent_barriers(float* y) {
  if (threadIdx.x < 32) {
    __syncthreads();  // other: divergent_barriers
  } else {
    __syncthreads();  // here: divergent_barriers
  }
  y[threadIdx.x] = 0.0f;
}

extern "C" __global__ void __launch_bounds__(kBlock)
exit_before_barrier(float* y) {
  if (threadIdx.x >= 48) return;
  __syncthreads();  // here: exit_before_barrier
  y[threadIdx.x] = 0.0f;
}

extern "C" __global__ void __launch_bounds__(kBlock)
partial_mask(float* y) {
  float value = static_cast<float>(threadIdx.x);
  if (threadIdx.x % 32 < 16) value += __shfl_xor_sync(0xffffu, value, 8);  // here: partial_mask
  y[threadIdx.x] = value;
}

extern "C" __global__ void __launch_bounds__(kBlock)
mask_of_exited_lanes(float* y) {
  if (threadIdx.x == 37) return;
  const float value = stitch_warp_reduce(1.0f, StitchSum());  // here: mask_of_exited_lanes
  y[threadIdx.x] = value;
}

extern "C" __global__ void __launch_bounds__(kBlock)
shuffle_against_vote(float* y) {
  float value = 1.0f;
  if (threadIdx.x % 2 == 0) {
    value += __shfl_xor_sync(0xffffffffu, value, 2);  // either: shuffle_against_vote
  } else {
    value += __any_sync(0xffffffffu, value > 2.0f);  // either: shuffle_against_vote
  }
  y[threadIdx.x] = value;
}

// The barrier waits for one block more than there are.
extern "C" __global__ void __launch_bounds__(kBlock)
barrier_hangs(float* y, unsigned* counter) {
  stitch_grid_barrier(counter, gridDim.x + 1);  // here: barrier_hangs
  y[blockIdx.x * kBlock + threadIdx.x] = 0.0f;
}

// The barrier lets blocks through before the others have arrived.
extern "C" __global__ void __launch_bounds__(kBlock)
barrier_counts_wrong(float* scratch, float* y, unsigned* counter) {
  if (threadIdx.x == 0) scratch[blockIdx.x] = static_cast<float>(blockIdx.x);  // other: barrier_counts_wrong
  stitch_leader_grid_barrier(counter, 1);
  y[blockIdx.x * kBlock + threadIdx.x] = scratch[(blockIdx.x + 1) % gridDim.x];  // here: barrier_counts_wrong
}

// Any thread writes, but only the writes of thread 0 are released.
extern "C" __global__ void __launch_bounds__(kBlock)
leader_releases_too_little(float* scratch, float* y, unsigned* counter) {
  scratch[blockIdx.x * kBlock + threadIdx.x] = 1.0f;  // other: leader_releases_too_little
  stitch_leader_grid_barrier(counter, gridDim.x);
  y[blockIdx.x * kBlock + threadIdx.x] =
      scratch[(blockIdx.x + 1) % gridDim.x * kBlock + threadIdx.x];  // here: leader_releases_too_little
}

// The last block to arrive reads what the others wrote, but the ticket counts one block too few.
extern "C" __global__ void __launch_bounds__(kBlock)
ticket_counts_wrong(float* scratch, float* y, unsigned* counter) {
  if (threadIdx.x == 0) scratch[blockIdx.x] = 1.0f;
  if (!stitch_arrives_last(counter, gridDim.x - 1, stitch_smem<unsigned>(0))) return;
  if (threadIdx.x < gridDim.x) y[threadIdx.x] = scratch[threadIdx.x];  // here: ticket_counts_wrong
}

extern "C" __global__ void __launch_bounds__(kBlock)
deadlocks(float* y) {
  if (threadIdx.x < 16) __syncthreads();  // either: deadlocks
  y[threadIdx.x] = stitch_warp_reduce(1.0f, StitchSum());  // either: deadlocks
}

extern "C" __global__ void __launch_bounds__(kBlock)
misaligned_vector(const float* x, float* y) {
  float v[4];
  stitch_load(v, x + 1 + threadIdx.x * 4);  // here: misaligned_vector
  stitch_store(y + threadIdx.x * 4, v);
}

// A block leaves while the others of its cluster still read its shared memory.
extern "C" __global__ void __launch_bounds__(kBlock)
leaves_cluster(float* y) {
  float* const shared = stitch_smem<float>(0);
  shared[threadIdx.x] = 1.0f;
  stitch_cluster_barrier();
  if (stitch_cluster_rank() == 0) return;
  y[threadIdx.x] = stitch_cluster_load(shared + threadIdx.x, 0);  // here: leaves_cluster
}

// The peers' shared memory is read before they have written it.
extern "C" __global__ void __launch_bounds__(kBlock)
cluster_without_barrier(float* y) {
  float* const shared = stitch_smem<float>(0);
  shared[threadIdx.x] = 1.0f;
  __syncthreads();
  y[blockIdx.x * kBlock + threadIdx.x] = stitch_cluster_load(shared + threadIdx.x, stitch_cluster_rank() ^ 1);  // here: cluster_without_barrier
  stitch_cluster_barrier();
}

extern "C" __global__ void __launch_bounds__(kBlock)
forgets_the_last_row(float* y, int count) {
  const int index = threadIdx.x;
  if (index < count - 1) y[index] = 1.0f;
}
