// Residual addition, layer normalisation and GELU: a row per block, two reductions through shared
// memory.
#include "math.cuh"
#include "reduce.cuh"
#include "vector.cuh"

constexpr int kRows = 5;
constexpr int kCols = 702;
constexpr float kEpsilon = 1e-5f;
constexpr int kThreadsPerRow = 256;
constexpr int kVector = 2;
constexpr int kBlock = 256;
constexpr int kRowsPerBlock = kBlock / kThreadsPerRow;
constexpr int kSpan = kThreadsPerRow * kVector;
constexpr int kSteps = (kCols + kSpan - 1) / kSpan;
constexpr int kGrid = (kRows + kRowsPerBlock - 1) / kRowsPerBlock;
constexpr int kSlotBytes = kThreadsPerRow > 32 ? kBlock / 32 * 4 : 0;
constexpr int kSharedBytes = 2 * kSlotBytes;

extern "C" __global__ void __launch_bounds__(kBlock)
layer_norm_gelu(const float* __restrict__ dense, const float* __restrict__ residual,
                                const float* __restrict__ weight, const float* __restrict__ bias,
                                float* __restrict__ hidden, float* __restrict__ activated) {
  const int column = threadIdx.x % kThreadsPerRow * kVector;
  const int row = blockIdx.x * kRowsPerBlock + threadIdx.x / kThreadsPerRow;
  const bool live = kRows % kRowsPerBlock == 0 || row < kRows;
  const int start = (live ? row : kRows - 1) * kCols + column;

  // weight and bias do not depend on the row: their latency hides behind the reductions.
  float h[kSteps][kVector], r[kSteps][kVector], gain[kSteps][kVector], shift[kSteps][kVector];
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    if (stitch_inside<kCols, kSpan>(i, column + i * kSpan)) {
      stitch_load(h[i], dense + start + i * kSpan);
      stitch_load(r[i], residual + start + i * kSpan);
      stitch_load(gain[i], weight + column + i * kSpan);
      stitch_load(shift[i], bias + column + i * kSpan);
    } else {
      stitch_fill(h[i], 0.0f);
      stitch_fill(r[i], 0.0f);
    }
  }

  // group 1: /output/Add, /output/LayerNorm mean
  float row_mean = 0.0f;
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
#pragma unroll
    for (int j = 0; j < kVector; ++j) row_mean += h[i][j] += r[i][j];
    if (live && stitch_inside<kCols, kSpan>(i, column + i * kSpan))
      stitch_store(hidden + start + i * kSpan, h[i]);
  }
  row_mean = stitch_row_reduce<kThreadsPerRow>(row_mean, StitchSum(), stitch_smem<float>(0));
  row_mean *= 1.0f / kCols;

  // group 2: variance from the distances in registers; columns beyond the row must not count
  float row_variance = 0.0f;
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const bool inside = stitch_inside<kCols, kSpan>(i, column + i * kSpan);
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      h[i][j] -= row_mean;
      if (inside) row_variance += h[i][j] * h[i][j];
    }
  }
  row_variance =
      stitch_row_reduce<kThreadsPerRow>(row_variance, StitchSum(), stitch_smem<float>(kSlotBytes));
  const float scale = stitch_rsqrt(row_variance * (1.0f / kCols) + kEpsilon);

  // group 3: /output/LayerNorm scale and shift, /act/Gelu
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    if (live && stitch_inside<kCols, kSpan>(i, column + i * kSpan)) {
#pragma unroll
      for (int j = 0; j < kVector; ++j)
        h[i][j] = stitch_gelu(h[i][j] * scale * gain[i][j] + shift[i][j]);
      stitch_store(activated + start + i * kSpan, h[i]);
    }
  }
}
