// kernel   k00_head_softmax
// nodes    /head/Softmax
// stage 1  RowMapping 256 rows x 131072 columns: 1024 threads per row, 1 row per block, vectors of
//          4
//   group 1  max, sub, exp, sum -> row_max, row_sum
//   group 2  sub, exp, div -> probs (output)
// values   row_max, row_sum: registers
// bytes    402.7 MB, of which 268.4 MB compulsory
// limit    memory, 228.0 us on a100 (uncalibrated)
#include "math.cuh"
#include "reduce.cuh"
#include "streaming.cuh"
#include "vector.cuh"

constexpr int kCols = 131072;
constexpr int kBlock = 1024;
constexpr int kThreadsPerRow = 1024;
constexpr int kVector = 4;
constexpr int kSpan = kThreadsPerRow * kVector;

extern "C" __global__ void __launch_bounds__(kBlock)
k00_head_softmax(const float* __restrict__ logits, float* __restrict__ probs) {
  const int lane = threadIdx.x;
  const int row = blockIdx.x;

  // group 1: /head/Softmax (max, sub, exp, sum)
  float row_max = -stitch_infinity();
  float partial[kVector] = {};
#pragma unroll 4
  for (int column = lane * kVector; column < kCols; column += kSpan) {
    const float before = row_max;
    float logits_part[kVector];
    stitch_load(logits_part, logits + (row * kCols + column));
#pragma unroll
    for (int j = 0; j < kVector; ++j) row_max = stitch_max_nan(row_max, logits_part[j]);
    const float shift = stitch_exp_shift(row_max);
    if (row_max != before) {
      const float carried = stitch_exp_carry(before, shift);
#pragma unroll
      for (int j = 0; j < kVector; ++j) partial[j] *= carried;
    }
#pragma unroll
    for (int j = 0; j < kVector; ++j) partial[j] += stitch_exp(logits_part[j] - shift);
  }
  float row_sum = stitch_fold(partial, StitchSum());
  const float own = row_max;
  row_max = stitch_row_reduce<kThreadsPerRow>(row_max, StitchMaxNan(), stitch_smem<float>(0));
  row_sum *= stitch_exp_carry(own, row_max);
  row_sum = stitch_row_reduce<kThreadsPerRow>(row_sum, StitchSum(), stitch_smem<float>(128));

  // group 2: /head/Softmax (sub, exp, div)
  const StitchReciprocal reciprocal = stitch_reciprocal(row_sum);
#pragma unroll 4
  for (int column = lane * kVector; column < kCols; column += kSpan) {
    float logits_part_part[kVector];
    stitch_load(logits_part_part, logits + (row * kCols + column));
    float probs_part[kVector];
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      probs_part[j] = stitch_times(stitch_exp(logits_part_part[j] - row_max), reciprocal);
    }
    stitch_store(probs + (row * kCols + column), probs_part);
  }
}
