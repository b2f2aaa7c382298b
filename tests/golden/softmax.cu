// kernel   k00_layer_0_attention_softmax
// nodes    /encoder/layer.0/attention/Softmax
// stage 1  RowMapping 4096 rows x 1024 columns: 32 threads per row, 8 rows per block, vectors of 4
//   group 1  copy, max -> scores, row_max
//   group 2  sub, exp, sum -> power, row_sum
//   group 3  div -> probs (output)
// values   power, scores: register arrays;  row_max, row_sum: registers
// bytes    33.6 MB: compulsory
// limit    memory, 19.9 us on a100 (uncalibrated)
#include "math.cuh"
#include "reduce.cuh"
#include "vector.cuh"

constexpr int kCols = 1024;
constexpr int kBlock = 256;
constexpr int kThreadsPerRow = 32;
constexpr int kRowThreads = kBlock / kThreadsPerRow;
constexpr int kRowsPerBlock = kRowThreads;
constexpr int kVector = 4;
constexpr int kSpan = kThreadsPerRow * kVector;
constexpr int kSteps = kCols / kSpan;

extern "C" __global__ void __launch_bounds__(kBlock)
k00_layer_0_attention_softmax(const float* __restrict__ scores, float* __restrict__ probs) {
  const int lane = threadIdx.x % kThreadsPerRow;
  const int team = threadIdx.x / kThreadsPerRow;
  const int row = blockIdx.x * kRowsPerBlock + team;

  // group 1: copy, /encoder/layer.0/attention/Softmax (max)
  float scores_row[kSteps][kVector];
  float row_max = -stitch_infinity();
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const int column = lane * kVector + i * kSpan;
    stitch_load(scores_row[i], scores + (row * kCols + column));
#pragma unroll
    for (int j = 0; j < kVector; ++j) row_max = stitch_max_nan(row_max, scores_row[i][j]);
  }
  row_max = stitch_row_reduce<kThreadsPerRow>(row_max, StitchMaxNan());

  // group 2: /encoder/layer.0/attention/Softmax (sub, exp, sum)
  float power[kSteps][kVector];
  float partial[kVector] = {};
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      power[i][j] = stitch_exp(scores_row[i][j] - row_max);
      partial[j] += power[i][j];
    }
  }
  float row_sum = stitch_fold(partial, StitchSum());
  row_sum = stitch_row_reduce<kThreadsPerRow>(row_sum, StitchSum());

  // group 3: /encoder/layer.0/attention/Softmax (div)
  const StitchReciprocal reciprocal = stitch_reciprocal(row_sum);
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const int column = lane * kVector + i * kSpan;
    float probs_part[kVector];
#pragma unroll
    for (int j = 0; j < kVector; ++j) probs_part[j] = stitch_times(power[i][j], reciprocal);
    stitch_store(probs + (row * kCols + column), probs_part);
  }
}
