// Softmax over rows whose length is no multiple of a warp's span: shuffles only.
#include "math.cuh"
#include "reduce.cuh"
#include "vector.cuh"

constexpr int kRows = 37;
constexpr int kCols = 702;
constexpr int kThreadsPerRow = 32;
constexpr int kVector = 2;
constexpr int kBlock = 256;
constexpr int kRowsPerBlock = kBlock / kThreadsPerRow;
constexpr int kSpan = kThreadsPerRow * kVector;
constexpr int kSteps = (kCols + kSpan - 1) / kSpan;
constexpr int kGrid = (kRows + kRowsPerBlock - 1) / kRowsPerBlock;
constexpr int kSlotBytes = kThreadsPerRow > 32 ? kBlock / 32 * 4 : 0;
constexpr int kSharedBytes = 2 * kSlotBytes;

extern "C" __global__ void __launch_bounds__(kBlock)
softmax_rows(const float* __restrict__ scores, float* __restrict__ probs) {
  const int lane = threadIdx.x % kThreadsPerRow;
  const int row = blockIdx.x * kRowsPerBlock + threadIdx.x / kThreadsPerRow;
  // Surplus threads of the last block repeat the last row, so that every warp stays whole.
  const bool live = kRows % kRowsPerBlock == 0 || row < kRows;
  const int start = (live ? row : kRows - 1) * kCols + lane * kVector;

  // The whole row is requested before any of it is used: kSteps independent loads per thread.
  float x[kSteps][kVector];
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    if (stitch_inside<kCols, kSpan>(i, lane * kVector + i * kSpan))
      stitch_load(x[i], scores + start + i * kSpan);
    else
      stitch_fill(x[i], -stitch_infinity());  // exp turns the identity of max into that of sum
  }

  // group 1: /attention/Softmax max
  float row_max = x[0][0];
#pragma unroll
  for (int i = 0; i < kSteps; ++i)
#pragma unroll
    for (int j = 0; j < kVector; ++j) row_max = fmaxf(row_max, x[i][j]);
  row_max = stitch_row_reduce<kThreadsPerRow>(row_max, StitchMax(), stitch_smem<float>(0));

  // group 2: /attention/Softmax exp, sum
  float partial[kVector] = {};  // one chain per vector element hides the latency of the additions
#pragma unroll
  for (int i = 0; i < kSteps; ++i)
#pragma unroll
    for (int j = 0; j < kVector; ++j) partial[j] += x[i][j] = stitch_exp(x[i][j] - row_max);
  float row_sum = partial[0];
#pragma unroll
  for (int j = 1; j < kVector; ++j) row_sum += partial[j];
  row_sum = stitch_row_reduce<kThreadsPerRow>(row_sum, StitchSum(), stitch_smem<float>(kSlotBytes));

  // group 3: /attention/Softmax div, as one quotient per row and a product per element (1.5 ulp)
  const float scale = stitch_divide(1.0f, row_sum);
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
#pragma unroll
    for (int j = 0; j < kVector; ++j) x[i][j] *= scale;
    if (live && stitch_inside<kCols, kSpan>(i, lane * kVector + i * kSpan))
      stitch_store(probs + start + i * kSpan, x[i]);
  }
}
