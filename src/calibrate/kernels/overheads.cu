// What a kernel costs beside its work. Each kernel is timed at two numbers of rounds or launches;
// the difference leaves out what both have in common.
#include "grid.cuh"
#include "reduce.cuh"

constexpr int kBlock = 256;

// launch_us: one more of these in a CUDA graph.
extern "C" __global__ void __launch_bounds__(32) calibrate_launch() {}

// floor_us: one more of these in a CUDA graph, without the launch. Every thread loads an index, then
// what lies there, and stores it.
extern "C" __global__ void __launch_bounds__(kBlock)
calibrate_floor(const int* index, const float* from, float* to) {
  const int thread = blockIdx.x * kBlock + threadIdx.x;
  to[thread] = from[index[thread]];
}

// barrier_us: one more round. All blocks must be resident; the counter is zero at the start.
extern "C" __global__ void __launch_bounds__(kBlock)
calibrate_barrier(unsigned* counter, int rounds) {
  for (int round = 0; round < rounds; ++round)
    stitch_grid_barrier(counter, (round + 1) * gridDim.x);
}

// ticket_us: the time with a ticket without that without. Every block stores a partial result; the
// last to arrive adds them up. Launch l of a graph has counter l.
extern "C" __global__ void __launch_bounds__(kBlock)
calibrate_ticket(unsigned* counters, int launch, int with_ticket, float* partial, float* total) {
  if (threadIdx.x == 0) partial[blockIdx.x] = 1.0f;
  if (with_ticket == 0) return;
  if (!stitch_arrives_last(counters + launch, gridDim.x, stitch_smem<unsigned>(0))) return;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < static_cast<int>(gridDim.x); i += kBlock) sum += partial[i];
  sum = stitch_row_reduce<kBlock>(sum, StitchSum(), stitch_smem<float>(16));
  if (threadIdx.x == 0) *total = sum;
}

// reduce_us: one more round. Each sum waits for the one before; two areas of shared memory take
// turns, so that one barrier each is enough.
extern "C" __global__ void __launch_bounds__(kBlock)
calibrate_reduce(int rounds, float* to) {
  float value = static_cast<float>(threadIdx.x);
  for (int round = 0; round < rounds; ++round) {
    float* const slot = stitch_smem<float>(round % 2 * 128);
    value = 1.0f / 256.0f * stitch_row_reduce<kBlock>(value, StitchSum(), slot);
  }
  to[blockIdx.x * kBlock + threadIdx.x] = value;
}
