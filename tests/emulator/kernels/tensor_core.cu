// Warp-wide products and asynchronous copies, with the lane maps of the PTX ISA written out.
#include "vector.cuh"

constexpr int kBlock = 32;

// d (16 x 8) = a (16 x 16) * b (16 x 8): a by matrix loads from shared memory, b [n][k] by words.
extern "C" __global__ void __launch_bounds__(kBlock)
multiply_half(const __half* __restrict__ a, const __half* __restrict__ b, float* __restrict__ d) {
  const int lane = threadIdx.x;
  const int group = lane / 4;
  const int quarter = lane % 4;
  __half* const tile = stitch_smem<__half>(0);
  stitch_store_word<16>(tile + lane * 8, stitch_load_word<16>(a + lane * 8));
  __syncthreads();
  unsigned af[4], bf[2];
  stitch_load_matrices(af, tile + lane % 16 * 16 + lane / 16 * 8);
  for (int i = 0; i < 2; ++i)
    bf[i] = stitch_load_word<4>(b + group * 16 + quarter * 2 + 8 * i);
  float sum[4] = {};
  stitch_mma<__half>(sum, af, bf);
  for (int i = 0; i < 4; ++i) d[(group + i / 2 * 8) * 8 + quarter * 2 + i % 2] = sum[i];
}

// The same product with a stored transposed, [k][m].
extern "C" __global__ void __launch_bounds__(kBlock)
multiply_transposed(const __half* __restrict__ a, const __half* __restrict__ b,
                    float* __restrict__ d) {
  const int lane = threadIdx.x;
  const int group = lane / 4;
  const int quarter = lane % 4;
  __half* const tile = stitch_smem<__half>(0);
  stitch_store_word<16>(tile + lane * 8, stitch_load_word<16>(a + lane * 8));
  __syncthreads();
  unsigned af[4], bf[2];
  // Matrices of a: rows 0 and 8 of m first, then depth 8; stored, m is the contiguous index.
  const int matrix = lane / 8;
  stitch_load_matrices_transposed(af,
                                  tile + (matrix / 2 * 8 + lane % 8) * 16 + matrix % 2 * 8);
  for (int i = 0; i < 2; ++i)
    bf[i] = stitch_load_word<4>(b + group * 16 + quarter * 2 + 8 * i);
  float sum[4] = {};
  stitch_mma<__half>(sum, af, bf);
  for (int i = 0; i < 4; ++i) d[(group + i / 2 * 8) * 8 + quarter * 2 + i % 2] = sum[i];
}

// d (16 x 8) = a (16 x 32) * b (32 x 8) of int8; b [n][k].
extern "C" __global__ void __launch_bounds__(kBlock)
multiply_int8(const signed char* __restrict__ a, const signed char* __restrict__ b,
              int* __restrict__ d) {
  const int group = threadIdx.x / 4;
  const int quarter = threadIdx.x % 4;
  unsigned af[4], bf[2];
  for (int i = 0; i < 4; ++i)
    af[i] = stitch_load_word<4>(a + (group + i % 2 * 8) * 32 + quarter * 4 + i / 2 * 16);
  for (int i = 0; i < 2; ++i) bf[i] = stitch_load_word<4>(b + group * 32 + quarter * 4 + i * 16);
  int sum[4] = {};
  stitch_mma_s8(sum, af, bf);
  for (int i = 0; i < 4; ++i) d[(group + i / 2 * 8) * 8 + quarter * 2 + i % 2] = sum[i];
}

// Copies go through shared memory; the last elements are outside and become zero.
extern "C" __global__ void __launch_bounds__(kBlock)
copy_waits(const float* __restrict__ x, float* __restrict__ y, int count) {
  float* const shared = stitch_smem<float>(0);
  const int index = threadIdx.x * 4;
  const bool inside = index < count;
  stitch_copy_async<16>(shared + index, x + (inside ? index : 0), inside);
  stitch_commit_copies();
  stitch_wait_copies<0>();
  __syncthreads();
  float v[4];
  stitch_load(v, shared + (index + 4) % (kBlock * 4));
  stitch_store(y + index, v);
}

extern "C" __global__ void __launch_bounds__(kBlock)
copy_read_too_early(const float* __restrict__ x, float* __restrict__ y) {
  float* const shared = stitch_smem<float>(0);
  stitch_copy_async<4>(shared + threadIdx.x, x + threadIdx.x, true);
  stitch_commit_copies();
  y[threadIdx.x] = shared[threadIdx.x];  // here: copy_read_too_early
}

extern "C" __global__ void __launch_bounds__(kBlock)
copy_never_awaited(const float* __restrict__ x, float* __restrict__ y) {
  float* const shared = stitch_smem<float>(0);
  stitch_copy_async<4>(shared + threadIdx.x, x + threadIdx.x, true);
  stitch_commit_copies();
  y[threadIdx.x] = 0.0f;
}
