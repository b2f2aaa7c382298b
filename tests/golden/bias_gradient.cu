// kernel   k00_dense_reduce_mean
// nodes    /dense/ReduceMean
// stage 1  ColumnMapping 1024 rows x 1024 columns: 32 threads per column, 64 columns per block,
//          vectors of 2, 8 in blockIdx.y
//   group 1  sum -> row_sum
// ticket   the block that arrives last goes on
// stage 2  LoopMapping 1024 elements: 32 threads per block, vectors of 2
//   group 2  sum, div -> mean (output)
// values   row_sum: registers;  row_sum: scratch
// bytes    33.6 MB, of which 33.6 MB compulsory
// limit    memory, 20.7 us on a100 (uncalibrated)
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
k00_dense_reduce_mean(const float* __restrict__ gradient, float* __restrict__ mean, float* partials,
                      unsigned* counters) {
  const int outer = blockIdx.y;
  const int team = threadIdx.x / kColumnThreads;
  const int column = (blockIdx.x * kColumnThreads + threadIdx.x % kColumnThreads) * kVector;

  // group 1: /dense/ReduceMean (sum)
  float column_sum[kVector] = {};
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const int row = team + i * kSpan;
    float gradient_part[kVector];
    stitch_load(gradient_part, gradient + (outer * 1048576 + row * kCols + column));
#pragma unroll
    for (int j = 0; j < kVector; ++j) column_sum[j] += gradient_part[j];
  }
  stitch_column_reduce<kThreadsPerColumn, kColumnThreads>(column_sum, StitchSum(),
      stitch_smem<float>(0));
  if (team == 0) {
    stitch_store(partials + (outer * kCols + column), column_sum);
  }

  // No other block waits for the result, so the last one finishes it.
  if (!stitch_arrives_last(counters + (blockIdx.x * 8), 8u, stitch_smem<unsigned>(8192))) return;
  {
    const int team = threadIdx.x / kRowThreads;
    const int row = (blockIdx.x * kRowThreads + threadIdx.x % kRowThreads) * kVector;

    // group 2: /dense/ReduceMean (sum, div)
    float window_sum[kVector];
#pragma unroll
    for (int j = 0; j < kVector; ++j) window_sum[j] = 0.0f;
    for (int u = 0; u < 8; ++u) {
      float row_sum_part[kVector];
      stitch_load(row_sum_part, partials + (u * 1024 + row));
#pragma unroll
      for (int j = 0; j < kVector; ++j) window_sum[j] += row_sum_part[j];
    }
    float quotient[kVector];
#pragma unroll
    for (int j = 0; j < kVector; ++j) quotient[j] = window_sum[j] * 0.00012207031f;
    if (team == 0) {
      stitch_store(mean + row, quotient);
    }
  }
}
