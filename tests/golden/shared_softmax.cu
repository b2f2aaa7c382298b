// kernel   k00_head_softmax                                            cooperative launch
// nodes    /head/Softmax
// stage 1  RowMapping 1 row x 4096 columns: 1024 threads per row, 1 row per block, vectors of 4, 32
//          blocks side by side
//   group 1  copy, max -> logits, row_max
//   group 2  abs, compare, select -> shift
//   group 3  sub, exp, sum -> row_sum
// barrier  between the blocks of the same rows
// stage 2  RowMapping 1 row x 4096 columns: 1024 threads per row, 1 row per block, vectors of 4, 32
//          blocks side by side
//   group 4  max -> row_max
//   group 5  sub, exp, mul, sum -> row_sum
//   group 6  sub, exp, div -> probs (output)
// values   logits: register arrays;  row_max, row_sum, shift: registers;  row_max, row_sum: scratch
// bytes    1.05 MB, of which 1.05 MB compulsory
// limit    launch and latency, 3.9 us on a100 (uncalibrated)
#include "grid.cuh"
#include "math.cuh"
#include "reduce.cuh"
#include "vector.cuh"

constexpr int kCols = 4096;
constexpr int kCols2 = 32;
constexpr int kBlock = 1024;
constexpr int kThreadsPerRow = 1024;
constexpr int kVector = 4;

extern "C" __global__ void __launch_bounds__(kBlock)
k00_head_softmax(const float* __restrict__ logits, float* __restrict__ probs, float* partials,
                 float* partials_1, unsigned* counters) {
  const int outer = blockIdx.y;
  const int lane = threadIdx.x;
  // group 1: copy, /head/Softmax (max)
  const int column = lane * kVector;
  float logits_row[kVector];
  float row_max = -stitch_infinity();
  stitch_load(logits_row, logits + (outer * kCols + column));
#pragma unroll
  for (int j = 0; j < kVector; ++j) row_max = stitch_max_nan(row_max, logits_row[j]);
  row_max = stitch_row_reduce<kThreadsPerRow>(row_max, StitchMaxNan(), stitch_smem<float>(0));
  if (lane == 0) {
    partials[outer] = row_max;
  }

  // group 2: /head/Softmax (abs, compare, select)
  const float shift = fabsf(row_max) < stitch_infinity() ? row_max : 0.0f;

  // group 3: /head/Softmax (sub, exp, sum)
  float partial[kVector] = {};
#pragma unroll
  for (int j = 0; j < kVector; ++j) partial[j] += stitch_exp(logits_row[j] - shift);
  float row_sum = stitch_fold(partial, StitchSum());
  row_sum = stitch_row_reduce<kThreadsPerRow>(row_sum, StitchSum(), stitch_smem<float>(128));
  if (lane == 0) {
    partials_1[outer] = row_sum;
  }

  // Only the blocks that share these rows are waited for.
  stitch_grid_barrier(counters, 32u);
  // stage 2: the mapping of the stage before

  // group 4: /head/Softmax (max)
  float row_max_1 = -stitch_infinity();
  if (column < kCols2) {
    float row_max_part[kVector];
    stitch_load(row_max_part, partials + column);
#pragma unroll
    for (int j = 0; j < kVector; ++j) row_max_1 = stitch_max_nan(row_max_1, row_max_part[j]);
  }
  row_max_1 = stitch_row_reduce<kThreadsPerRow>(row_max_1, StitchMaxNan(), stitch_smem<float>(0));

  // group 5: /head/Softmax (sub, exp, mul, sum)
  float partial_1[kVector] = {};
  if (column < kCols2) {
    float row_sum_part[kVector];
    stitch_load(row_sum_part, partials_1 + column);
    float row_max_part_part[kVector];
    stitch_load(row_max_part_part, partials + column);
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      partial_1[j] += row_sum_part[j] * stitch_exp(row_max_part_part[j] - row_max_1);
    }
  }
  float row_sum_1 = stitch_fold(partial_1, StitchSum());
  row_sum_1 = stitch_row_reduce<kThreadsPerRow>(row_sum_1, StitchSum(), stitch_smem<float>(128));

  // group 6: /head/Softmax (sub, exp, div)
  const StitchReciprocal reciprocal = stitch_reciprocal(row_sum_1);
  float probs_part[kVector];
#pragma unroll
  for (int j = 0; j < kVector; ++j) {
    probs_part[j] = stitch_times(stitch_exp(logits_row[j] - row_max_1), reciprocal);
  }
  stitch_store(probs + (outer * kCols + column), probs_part);
}

// kernel   k00_head_softmax_twin
// nodes    /head/Softmax
// stage 1  RowMapping 1 row x 131072 columns: 1024 threads per row, 1 row per block, vectors of 4
//   group 1  max, sub, exp, sum -> row_max, row_sum
//   group 2  sub, exp, div -> probs (output)
// values   row_max, row_sum: registers
// bytes    1.57 MB, of which 1.05 MB compulsory
// limit    memory, 42.7 us on a100 (uncalibrated)
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
k00_head_softmax_twin(const float* __restrict__ logits, float* __restrict__ probs) {
  const int lane = threadIdx.x;
  // group 1: /head/Softmax (max, sub, exp, sum)
  float row_max = -stitch_infinity();
  float partial[kVector] = {};
#pragma unroll 4
  for (int column = lane * kVector; column < kCols; column += kSpan) {
    const float before = row_max;
    float logits_part[kVector];
    stitch_load(logits_part, logits + column);
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
    stitch_load(logits_part_part, logits + column);
    float probs_part[kVector];
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      probs_part[j] = stitch_times(stitch_exp(logits_part_part[j] - row_max), reciprocal);
    }
    stitch_store(probs + column, probs_part);
  }
}
