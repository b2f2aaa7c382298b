// kernel   k00_copy_of_x
// nodes    copy of x
// stage 1  RowMapping 384 rows x 768 columns: 256 threads per row, 1 row per block, vectors of 4
//   group 1  copy, sum -> x, row_sum
//   group 2  div -> row_mean
//   group 3  sub, mul, sum -> distance, row_sum
//   group 4  div, add, sqrt -> deviation
//   group 5  div, mul, add -> normalised
//   group 6  matmul -> product
//   group 7  add, tanh -> y (output)
// values   distance, x: register arrays;  deviation, row_mean, row_sum: registers;  normalised,
//          product: shared memory
// bytes    9.47 MB: compulsory
// limit    memory, 7.4 us on a100 (uncalibrated)
#include "math.cuh"
#include "reduce.cuh"
#include "vector.cuh"

constexpr int kCols = 768;
constexpr int kCols2 = 8;
constexpr int kBlock = 256;
constexpr int kThreadsPerRow = 256;
constexpr int kSpan = kThreadsPerRow;
constexpr int kSteps = kCols / kSpan;
constexpr int kVector = 4;
constexpr int kThreads = 32;
constexpr int kSpan2 = kThreads * kVector;
constexpr int kSteps2 = kCols / kSpan2;

extern "C" __global__ void __launch_bounds__(kBlock)
k00_copy_of_x(const float* __restrict__ x, const float* __restrict__ gamma_1,
              const float* __restrict__ beta, const float* __restrict__ weight,
              const float* __restrict__ bias, float* __restrict__ y) {
  float* const normalised_shared = stitch_smem<float>(0);
  float* const product_shared = stitch_smem<float>(3072);
  const int lane = threadIdx.x;
  const int row = blockIdx.x;

  // group 1: copy, sum
  float x_row[kSteps];
  float row_sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const int column = lane + i * kSpan;
    x_row[i] = x[column];
    row_sum += x_row[i];
  }
  row_sum = stitch_row_reduce<kThreadsPerRow>(row_sum, StitchSum(), stitch_smem<float>(3328));

  // group 2: div
  const float row_mean = row_sum / 768.0f;

  // group 3: sub, mul, sum
  float distance[kSteps];
  float row_sum_1 = 0.0f;
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    distance[i] = x_row[i] - row_mean;
    row_sum_1 += distance[i] * distance[i];
  }
  row_sum_1 = stitch_row_reduce<kThreadsPerRow>(row_sum_1, StitchSum(), stitch_smem<float>(3360));

  // group 4: div, add, sqrt
  const float deviation = sqrtf(row_sum_1 / 768.0f + 1e-05f);

  // group 5: div, mul, add
  const StitchReciprocal reciprocal = stitch_reciprocal(deviation);
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const int column = lane + i * kSpan;
    normalised_shared[column] = stitch_times(distance[i], reciprocal) * gamma_1[column] +
        beta[column];
  }
  __syncthreads();

  // group 6: matmul
  {
    const int inner_row = lane / 32;
    float partial[kVector] = {};
#pragma unroll
    for (int i = 0; i < kSteps2; ++i) {
      const int column = lane % 32 * kVector + i * kSpan2;
      float normalised_part[kVector];
      stitch_load(normalised_part, normalised_shared + column);
      float weight_part[kVector];
      stitch_load(weight_part, weight + (row * 6144 + inner_row * kCols + column));
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        partial[j] = fmaf(normalised_part[j], weight_part[j], partial[j]);
      }
    }
    float product = stitch_fold(partial, StitchSum());
    product = stitch_row_reduce<32>(product, StitchSum());
    if (lane % 32 == 0) {
      product_shared[inner_row] = product;
    }
  }
  __syncthreads();

  // group 7: add, tanh
  const int column = lane;
  if (column < kCols2) {
    y[row * 8 + column] = tanhf(product_shared[column] + bias[row * 8 + column]);
  }
}
