// Mean over rows: strips of rows per block, the last block of each tile (by ticket) finishes.
#include "grid.cuh"
#include "reduce.cuh"
#include "vector.cuh"

constexpr int kRows = 1000;
constexpr int kCols = 192;
constexpr int kVector = 4;
constexpr int kBlock = 256;
constexpr int kWarps = kBlock / 32;
constexpr int kTileCols = 32 * kVector;
constexpr int kRowsPerWarp = 16;
constexpr int kStripRows = kWarps * kRowsPerWarp;
constexpr int kStrips = (kRows + kStripRows - 1) / kStripRows;
constexpr int kGrid = (kCols + kTileCols - 1) / kTileCols;
constexpr int kGridY = kStrips;
constexpr int kPitch = kTileCols;
constexpr int kSharedBytes = kWarps * kPitch * 4 + 4;
constexpr int kCounterStride = 8;

// Adds the sums of the warps; the result is in the first warp.
STITCH_DEVICE void add_over_warps(float (&sum)[kVector], float* shared, int warp, int lane) {
  if (warp > 0) stitch_store(shared + warp * kPitch + lane * kVector, sum);
  __syncthreads();
  if (warp == 0) {
#pragma unroll
    for (int w = 1; w < kWarps; ++w) {
      float other[kVector];
      stitch_load(other, shared + w * kPitch + lane * kVector);
#pragma unroll
      for (int j = 0; j < kVector; ++j) sum[j] += other[j];
    }
  }
}

extern "C" __global__ void __launch_bounds__(kBlock, 4)
column_mean(const float* __restrict__ gradient, float* __restrict__ mean, float* strip_sums,
                    unsigned* counters) {
  float* const shared = stitch_smem<float>(0);
  unsigned* const flag = stitch_smem<unsigned>(kWarps * kPitch * 4);
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int column = blockIdx.x * kTileCols + lane * kVector;
  const bool inside = kCols % kTileCols == 0 || column < kCols;
  const int first_row = blockIdx.y * kStripRows + warp;

  // group 1: warps take interleaved rows, so that a block reads one contiguous stretch at a time
  float sum[kVector] = {};
  if (inside) {
#pragma unroll 8
    for (int r = 0; r < kRowsPerWarp; ++r) {
      const int row = first_row + r * kWarps;
      if (kRows % kStripRows == 0 || row < kRows) {
        float x[kVector];
        stitch_load(x, gradient + row * kCols + column);
#pragma unroll
        for (int j = 0; j < kVector; ++j) sum[j] += x[j];
      }
    }
  }
  add_over_warps(sum, shared, warp, lane);
  if (warp == 0 && inside) stitch_store(strip_sums + blockIdx.y * kCols + column, sum);

  // No other block waits for the result, so the last one finishes it: a ticket, not a barrier.
  if (!stitch_arrives_last(counters + blockIdx.x * kCounterStride, kStrips, flag)) return;

  // group 2: strips in a fixed order, whichever block came last
  stitch_fill(sum, 0.0f);
  if (inside) {
#pragma unroll 8
    for (int strip = warp; strip < kStrips; strip += kWarps) {
      float x[kVector];
      stitch_load(x, strip_sums + strip * kCols + column);
#pragma unroll
      for (int j = 0; j < kVector; ++j) sum[j] += x[j];
    }
  }
  add_over_warps(sum, shared, warp, lane);
  if (warp == 0 && inside) {
#pragma unroll
    for (int j = 0; j < kVector; ++j) sum[j] *= 1.0f / kRows;
    stitch_store(mean + column, sum);
  }
}
