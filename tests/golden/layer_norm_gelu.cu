// kernel   k00_add_layer_normalization_gelu
// nodes    /output/Add, /output/LayerNorm, /act/Gelu
// stage 1  RowMapping 128 rows x 1024 columns: 256 threads per row, 1 row per block, vectors of 4
//   group 1  add, sum -> hidden, row_sum, hidden (output)
//   group 2  div -> row_mean
//   group 3  sub, mul, sum -> distance, row_sum
//   group 4  div, add, sqrt -> deviation
//   group 5  div, mul, add, mul, erf, add, mul -> activated (output)
// values   distance, hidden: register arrays;  deviation, row_mean, row_sum: registers
// bytes    2.11 MB: compulsory
// limit    launch and latency, 2.2 us on a100 (uncalibrated)
#include "math.cuh"
#include "reduce.cuh"
#include "vector.cuh"

constexpr int kCols = 1024;
constexpr int kBlock = 256;
constexpr int kThreadsPerRow = 256;
constexpr int kVector = 4;

extern "C" __global__ void __launch_bounds__(kBlock)
k00_add_layer_normalization_gelu(const float* __restrict__ dense,
                                 const float* __restrict__ residual,
                                 const float* __restrict__ norm_weight,
                                 const float* __restrict__ bias, float* __restrict__ hidden,
                                 float* __restrict__ activated) {
  const int lane = threadIdx.x;
  const int row = blockIdx.x;

  // group 1: /output/Add (add), /output/LayerNorm (sum)
  const int column = lane * kVector;
  float hidden_row[kVector];
  float partial[kVector] = {};
  float dense_part[kVector];
  stitch_load(dense_part, dense + (row * kCols + column));
  float residual_part[kVector];
  stitch_load(residual_part, residual + (row * kCols + column));
#pragma unroll
  for (int j = 0; j < kVector; ++j) {
    hidden_row[j] = dense_part[j] + residual_part[j];
    partial[j] += hidden_row[j];
  }
  stitch_store(hidden + (row * kCols + column), hidden_row);
  float row_sum = stitch_fold(partial, StitchSum());
  row_sum = stitch_row_reduce<kThreadsPerRow>(row_sum, StitchSum(), stitch_smem<float>(0));

  // group 2: /output/LayerNorm (div)
  const float row_mean = row_sum * 0.0009765625f;

  // group 3: /output/LayerNorm (sub, mul, sum)
  float distance[kVector];
  float partial_1[kVector] = {};
#pragma unroll
  for (int j = 0; j < kVector; ++j) {
    distance[j] = hidden_row[j] - row_mean;
    partial_1[j] += distance[j] * distance[j];
  }
  float row_sum_1 = stitch_fold(partial_1, StitchSum());
  row_sum_1 = stitch_row_reduce<kThreadsPerRow>(row_sum_1, StitchSum(), stitch_smem<float>(32));

  // group 4: /output/LayerNorm (div, add, sqrt)
  const float deviation = sqrtf(row_sum_1 * 0.0009765625f + 1e-05f);

  // group 5: /output/LayerNorm (div, mul, add), /act/Gelu (mul, erf, add, mul)
  const StitchReciprocal reciprocal = stitch_reciprocal(deviation);
  float norm_weight_part[kVector];
  stitch_load(norm_weight_part, norm_weight + column);
  float bias_part[kVector];
  stitch_load(bias_part, bias + column);
  float product[kVector];
#pragma unroll
  for (int j = 0; j < kVector; ++j) {
    const float normed = stitch_times(distance[j], reciprocal) * norm_weight_part[j] + bias_part[j];
    product[j] = normed * (erff(normed * 0.70710677f) + 1.0f) * 0.5f;
  }
  stitch_store(activated + (row * kCols + column), product);
}
