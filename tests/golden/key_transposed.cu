// kernel   k00_attention_add_transpose
// nodes    /attention/{key/Add, Transpose_1}
// stage 1  TileMapping 96 rows x 4096 columns: 256 threads per row, 1 row per block, vectors of 8
//   group 1  copy -> key
//   group 2  add, copy -> key_transposed (output)
// values   key: shared memory
// bytes    1.57 MB: compulsory
// limit    launch and latency, 2.2 us on a100 (uncalibrated)
#include "vector.cuh"

constexpr int kCols = 4096;
constexpr int kBlock = 256;
constexpr int kThreadsPerRow = 256;
constexpr int kVector = 8;
constexpr int kSpan = kThreadsPerRow * kVector;
constexpr int kSteps = kCols / kSpan;

extern "C" __global__ void __launch_bounds__(kBlock)
k00_attention_add_transpose(const __half* __restrict__ key, const __half* __restrict__ bias,
                            __half* __restrict__ key_transposed) {
  float* const key_shared = stitch_smem<float>(0);
  const int lane = threadIdx.x;
  const int row = blockIdx.x;

  // group 1: copy
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const int column = lane * kVector + i * kSpan;
    float key_part[kVector];
    stitch_load(key_part, key +
        (row / 24 * 98304 + row % 2 * 49152 + column / 64 * 768 + row / 2 % 12 * 64 + column % 64));
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      key_shared[column / 64 * 65 + column % 64 + j] = key_part[j];
    }
  }
  __syncthreads();

  // group 2: /attention/key/Add (add), /attention/Transpose_1 (copy)
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const int column = lane * kVector + i * kSpan;
    const float bias_value = stitch_load_one(bias + (row / 2 % 12 * 64 + column / 64));
    float total[kVector];
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      total[j] = key_shared[column % 64 * 65 + j * 65 + column / 64] + bias_value;
    }
    stitch_store(key_transposed + (row / 2 * 8192 + column / 64 * 128 + row % 2 * 64 + column % 64),
        total);
  }
}
