// kernel   k00_norm_grad_mul_reduce_mean_sub                           cooperative launch
// nodes    /norm_grad/{Mul, ReduceMean, Mul_1, ReduceMean_1, Sub, Mul_2, Sub_1, Mul_3, Mul_4,
//          ReduceSum, ReduceSum_1}
// stage 1  RowMapping 76 rows x 1024 columns: 128 threads per row, 8 rows per block, vectors of 4,
//          10 passes per block, 108 blocks side by side
//   group 1  mul, sum, copy, mul, sum, mul, sum -> scaled, normalised, row_sum, row_sum, row_sum,
//            row_sum
//   group 2  div -> row_mean, row_mean_scaled
//   group 3  sub, mul, sub, mul -> input_gradient (output)
// barrier  all blocks
// stage 2  ColumnMapping 108 rows x 1024 columns: 32 threads per column, 32 columns per block
//   group 4  sum -> row_sum, row_sum
//   group 5  -> weight_gradient (output), bias_gradient (output)
// values   normalised, scaled: register arrays;  row_mean, row_mean_scaled, row_sum: registers; 
//          row_sum: scratch
// bytes    102.5 MB, of which 100.7 MB compulsory
// limit    memory, 60.7 us on a100 (uncalibrated)
#include "grid.cuh"
#include "reduce.cuh"
#include "vector.cuh"

constexpr int kRows = 76;
constexpr int kCols = 1024;
constexpr int kRows2 = 108;
constexpr int kBlock = 1024;
constexpr int kThreadsPerRow = 128;
constexpr int kRowThreads = kBlock / kThreadsPerRow;
constexpr int kRowsPerBlock = kRowThreads;
constexpr int kPasses = 10;
constexpr int kVector = 4;
constexpr int kSpan = kThreadsPerRow * kVector;
constexpr int kSteps = kCols / kSpan;
constexpr int kThreadsPerColumn = 32;
constexpr int kColumnThreads = kBlock / kThreadsPerColumn;
constexpr int kSpan2 = kThreadsPerColumn;
constexpr int kSteps2 = (kRows2 + kSpan2 - 1) / kSpan2;

extern "C" __global__ void __launch_bounds__(kBlock)
k00_norm_grad_mul_reduce_mean_sub(const float* __restrict__ gradient,
                                  const float* __restrict__ weight,
                                  const float* __restrict__ normalised,
                                  const float* __restrict__ inverse_deviation,
                                  float* __restrict__ input_gradient,
                                  float* __restrict__ weight_gradient,
                                  float* __restrict__ bias_gradient, float* partials,
                                  float* partials_1, unsigned* counters) {
  const int outer = blockIdx.x;
  const int lane = threadIdx.x % kThreadsPerRow;
  const int team = threadIdx.x / kThreadsPerRow;
  float column_sum[kSteps][kVector] = {};
  float column_sum_1[kSteps][kVector] = {};
  for (int pass = 0; pass < kPasses; ++pass) {
    const int row_in_grid = pass * kRowsPerBlock + team;
    const bool live = row_in_grid < kRows;
    const int row = live ? row_in_grid : kRows - 1;

    // group 1: /norm_grad/Mul (mul), /norm_grad/ReduceMean (sum), copy, /norm_grad/Mul_1 (mul),
    // /norm_grad/ReduceMean_1 (sum), /norm_grad/Mul_4 (mul), /norm_grad/ReduceSum (sum),
    // /norm_grad/ReduceSum_1 (sum)
    float scaled[kSteps][kVector];
    float normalised_row[kSteps][kVector];
    const bool holds = outer * 76 + row < 8192;
    float partial[kVector] = {};
    float partial_1[kVector] = {};
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const int column = lane * kVector + i * kSpan;
      if (live && holds) {
        float gradient_part[kVector];
        stitch_load(gradient_part, gradient + (outer * 77824 + row * kCols + column));
        float weight_part[kVector];
        stitch_load(weight_part, weight + column);
        stitch_load(normalised_row[i], normalised + (outer * 77824 + row * kCols + column));
#pragma unroll
        for (int j = 0; j < kVector; ++j) {
          scaled[i][j] = gradient_part[j] * weight_part[j];
          partial[j] += scaled[i][j];
          partial_1[j] += scaled[i][j] * normalised_row[i][j];
          column_sum[i][j] += gradient_part[j] * normalised_row[i][j];
          column_sum_1[i][j] += gradient_part[j];
        }
      }
    }
    float row_sum = stitch_fold(partial, StitchSum());
    float row_sum_1 = stitch_fold(partial_1, StitchSum());
    row_sum = stitch_row_reduce<kThreadsPerRow>(row_sum, StitchSum(), stitch_smem<float>(0));
    row_sum_1 = stitch_row_reduce<kThreadsPerRow>(row_sum_1, StitchSum(), stitch_smem<float>(128));

    // group 2: /norm_grad/ReduceMean (div), /norm_grad/ReduceMean_1 (div)
    const float row_mean = row_sum * 0.0009765625f;
    const float row_mean_scaled = row_sum_1 * 0.0009765625f;

    // group 3: /norm_grad/Sub (sub), /norm_grad/Mul_2 (mul), /norm_grad/Sub_1 (sub),
    // /norm_grad/Mul_3 (mul)
    const float inverse_deviation_value = outer * 76 + row < 8192
        ? inverse_deviation[outer * 76 + row] : 0.0f;
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const int column = lane * kVector + i * kSpan;
      if (live && outer * 76 + row < 8192) {
        float product[kVector];
#pragma unroll
        for (int j = 0; j < kVector; ++j) {
          product[j] = (scaled[i][j] - row_mean - normalised_row[i][j] * row_mean_scaled) *
              inverse_deviation_value;
        }
        stitch_store(input_gradient + (outer * 77824 + row * kCols + column), product);
      }
    }
    __syncthreads();
  }

  // group 1: the sums of this block's rows
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const int column = lane * kVector + i * kSpan;
    __syncthreads();
    stitch_column_reduce<kRowThreads, kThreadsPerRow>(column_sum[i], StitchSum(),
        stitch_smem<float>(0));
    __syncthreads();
    stitch_column_reduce<kRowThreads, kThreadsPerRow>(column_sum_1[i], StitchSum(),
        stitch_smem<float>(0));
    if (team == 0) {
      stitch_store(partials + (outer * kCols + column), column_sum[i]);
      stitch_store(partials_1 + (outer * kCols + column), column_sum_1[i]);
    }
  }

  stitch_grid_barrier(counters, 108u);
  if (blockIdx.x < 32) {
    const int team = threadIdx.x / kColumnThreads;
    const int column = blockIdx.x * kColumnThreads + threadIdx.x % kColumnThreads;

    // group 4: /norm_grad/ReduceSum (sum), /norm_grad/ReduceSum_1 (sum)
    float column_sum_2 = 0.0f;
    float column_sum_3 = 0.0f;
#pragma unroll
    for (int i = 0; i < kSteps2; ++i) {
      const int row = team + i * kSpan2;
      if (stitch_inside<kRows2, kSpan2>(i, row)) {
        column_sum_2 += partials[row * kCols + column];
        column_sum_3 += partials_1[row * kCols + column];
      }
    }
    column_sum_2 =
        stitch_column_reduce_one<kThreadsPerColumn, kColumnThreads>(column_sum_2, StitchSum(),
        stitch_smem<float>(0));
    column_sum_3 =
        stitch_column_reduce_one<kThreadsPerColumn, kColumnThreads>(column_sum_3, StitchSum(),
        stitch_smem<float>(4096));

    // group 5: copy
    if (team == 0) {
      weight_gradient[column] = column_sum_2;
      bias_gradient[column] = column_sum_3;
    }
  }
}

// kernel   k00_norm_grad_mul_reduce_mean_sub_twin1
// nodes    /norm_grad/{Mul, ReduceMean, Mul_1, ReduceMean_1, Sub, Mul_2, Sub_1, Mul_3}
// stage 1  RowMapping 8192 rows x 1024 columns: 64 threads per row, 4 rows per block, vectors of 4
//   group 1  mul, sum, copy, mul, sum -> scaled, normalised, row_sum, row_sum
//   group 2  div -> row_mean, row_mean_scaled
//   group 3  sub, mul, sub, mul -> input_gradient (output)
// values   normalised, scaled: register arrays;  row_mean, row_mean_scaled, row_sum: registers
// bytes    100.7 MB: compulsory
// limit    memory, 57.8 us on a100 (uncalibrated)
#include "reduce.cuh"
#include "vector.cuh"

constexpr int kCols = 1024;
constexpr int kBlock = 256;
constexpr int kThreadsPerRow = 64;
constexpr int kRowThreads = kBlock / kThreadsPerRow;
constexpr int kRowsPerBlock = kRowThreads;
constexpr int kVector = 4;
constexpr int kSpan = kThreadsPerRow * kVector;
constexpr int kSteps = kCols / kSpan;

extern "C" __global__ void __launch_bounds__(kBlock)
k00_norm_grad_mul_reduce_mean_sub_twin1(const float* __restrict__ gradient,
                                        const float* __restrict__ weight,
                                        const float* __restrict__ normalised,
                                        const float* __restrict__ inverse_deviation,
                                        float* __restrict__ input_gradient) {
  const int lane = threadIdx.x % kThreadsPerRow;
  const int team = threadIdx.x / kThreadsPerRow;
  const int row = blockIdx.x * kRowsPerBlock + team;

  // group 1: /norm_grad/Mul (mul), /norm_grad/ReduceMean (sum), copy, /norm_grad/Mul_1 (mul),
  // /norm_grad/ReduceMean_1 (sum)
  float scaled[kSteps][kVector];
  float normalised_row[kSteps][kVector];
  float partial[kVector] = {};
  float partial_1[kVector] = {};
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const int column = lane * kVector + i * kSpan;
    float gradient_part[kVector];
    stitch_load(gradient_part, gradient + (row * kCols + column));
    float weight_part[kVector];
    stitch_load(weight_part, weight + column);
    stitch_load(normalised_row[i], normalised + (row * kCols + column));
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      scaled[i][j] = gradient_part[j] * weight_part[j];
      partial[j] += scaled[i][j];
      partial_1[j] += scaled[i][j] * normalised_row[i][j];
    }
  }
  float row_sum = stitch_fold(partial, StitchSum());
  float row_sum_1 = stitch_fold(partial_1, StitchSum());
  row_sum = stitch_row_reduce<kThreadsPerRow>(row_sum, StitchSum(), stitch_smem<float>(0));
  row_sum_1 = stitch_row_reduce<kThreadsPerRow>(row_sum_1, StitchSum(), stitch_smem<float>(32));

  // group 2: /norm_grad/ReduceMean (div), /norm_grad/ReduceMean_1 (div)
  const float row_mean = row_sum * 0.0009765625f;
  const float row_mean_scaled = row_sum_1 * 0.0009765625f;

  // group 3: /norm_grad/Sub (sub), /norm_grad/Mul_2 (mul), /norm_grad/Sub_1 (sub), /norm_grad/Mul_3
  // (mul)
  const float inverse_deviation_value = inverse_deviation[row];
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const int column = lane * kVector + i * kSpan;
    float product[kVector];
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      product[j] = (scaled[i][j] - row_mean - normalised_row[i][j] * row_mean_scaled) *
          inverse_deviation_value;
    }
    stitch_store(input_gradient + (row * kCols + column), product);
  }
}

// kernel   k00_norm_grad_mul_reduce_mean_sub_twin2
// nodes    /norm_grad/{Mul_4, ReduceSum, ReduceSum_1}
// stage 1  ColumnMapping 1024 rows x 1024 columns: 32 threads per column, 64 columns per block,
//          vectors of 2, 8 in blockIdx.y
//   group 1  mul, sum -> row_sum, row_sum
// ticket   the block that arrives last goes on
// stage 2  LoopMapping 1024 elements: 32 threads per block, vectors of 2
//   group 2  sum -> weight_gradient (output), bias_gradient (output)
// values   row_sum: registers;  row_sum: scratch
// bytes    67.2 MB, of which 67.1 MB compulsory
// limit    memory, 39.8 us on a100 (uncalibrated)
#include "grid.cuh"
#include "reduce.cuh"
#include "vector.cuh"

constexpr int kCols = 1024;
constexpr int kRows = 1024;
constexpr int kBlock = 1024;
constexpr int kThreadsPerColumn = 32;
constexpr int kVector = 2;
constexpr int kColumnThreads = kBlock / kThreadsPerColumn;
constexpr int kSpan = kThreadsPerColumn;
constexpr int kSteps = kRows / kSpan;
constexpr int kThreadsPerRow = 32;
constexpr int kRowThreads = kBlock / kThreadsPerRow;

extern "C" __global__ void __launch_bounds__(kBlock)
k00_norm_grad_mul_reduce_mean_sub_twin2(const float* __restrict__ gradient,
                                        const float* __restrict__ normalised,
                                        float* __restrict__ weight_gradient,
                                        float* __restrict__ bias_gradient, float* partials_2,
                                        float* partials_3, unsigned* counters) {
  const int outer = blockIdx.y;
  const int team = threadIdx.x / kColumnThreads;
  const int column = (blockIdx.x * kColumnThreads + threadIdx.x % kColumnThreads) * kVector;

  // group 1: /norm_grad/Mul_4 (mul), /norm_grad/ReduceSum (sum), /norm_grad/ReduceSum_1 (sum)
  float column_sum[kVector] = {};
  float column_sum_1[kVector] = {};
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const int row = team + i * kSpan;
    float gradient_part[kVector];
    stitch_load(gradient_part, gradient + (outer * 1048576 + row * kCols + column));
    float normalised_part[kVector];
    stitch_load(normalised_part, normalised + (outer * 1048576 + row * kCols + column));
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      column_sum[j] += gradient_part[j] * normalised_part[j];
      column_sum_1[j] += gradient_part[j];
    }
  }
  stitch_column_reduce<kThreadsPerColumn, kColumnThreads>(column_sum, StitchSum(),
      stitch_smem<float>(0));
  stitch_column_reduce<kThreadsPerColumn, kColumnThreads>(column_sum_1, StitchSum(),
      stitch_smem<float>(8192));
  if (team == 0) {
    stitch_store(partials_2 + (outer * kCols + column), column_sum);
    stitch_store(partials_3 + (outer * kCols + column), column_sum_1);
  }

  // No other block waits for the result, so the last one finishes it.
  if (!stitch_arrives_last(counters + (blockIdx.x * 8), 8u, stitch_smem<unsigned>(16384))) return;
  {
    const int team = threadIdx.x / kRowThreads;
    const int row = (blockIdx.x * kRowThreads + threadIdx.x % kRowThreads) * kVector;

    // group 2: /norm_grad/ReduceSum (sum), /norm_grad/ReduceSum_1 (sum)
    float window_sum[kVector];
#pragma unroll
    for (int j = 0; j < kVector; ++j) window_sum[j] = 0.0f;
    for (int u = 0; u < 8; ++u) {
      float row_sum_part[kVector];
      stitch_load(row_sum_part, partials_2 + (u * 1024 + row));
#pragma unroll
      for (int j = 0; j < kVector; ++j) window_sum[j] += row_sum_part[j];
    }
    float window_sum_part[kVector];
#pragma unroll
    for (int j = 0; j < kVector; ++j) window_sum_part[j] = 0.0f;
    for (int u_1 = 0; u_1 < 8; ++u_1) {
      float row_sum_part_part[kVector];
      stitch_load(row_sum_part_part, partials_3 + (u_1 * 1024 + row));
#pragma unroll
      for (int j = 0; j < kVector; ++j) window_sum_part[j] += row_sum_part_part[j];
    }
    if (team == 0) {
      stitch_store(weight_gradient + row, window_sum);
      stitch_store(bias_gradient + row, window_sum_part);
    }
  }
}
