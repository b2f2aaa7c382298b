// kernel   k00_block_conv_add_relu
// nodes    /block/{Conv, Add, Relu}
// stage 1  ContractionMapping 96 x 196 x 576: block tile 32 x 32 x 16, 128 threads of 2 x 4
//   group 1  conv, add, max -> sum, y (output)
// values   sum: registers
// bytes    422 KB: compulsory
// limit    instructions, 18.4 us on a100 (uncalibrated)
#include "contraction.cuh"
#include "math.cuh"
#include "vector.cuh"

constexpr int kCols = 196;
constexpr int kDepth = 576;
constexpr int kBlock = 128;
constexpr int kTileRows = 32;
constexpr int kTileCols = 32;
constexpr int kTileDepth = 16;
constexpr int kThreadM = 2;
constexpr int kThreadN = 4;
constexpr int kColTiles = (kCols + kTileCols - 1) / kTileCols;

extern "C" __global__ void __launch_bounds__(kBlock)
k00_block_conv_add_relu(const float* __restrict__ weight, const float* __restrict__ x,
                        const float* __restrict__ bias, const float* __restrict__ shortcut,
                        float* __restrict__ y) {
  using Tiling = StitchTiling<kTileRows, kTileCols, kTileDepth, kThreadM, kThreadN, 36, 36>;
  const int first_row = blockIdx.x / kColTiles * kTileRows;
  const int first_column = blockIdx.x % kColTiles * kTileCols;

  // group 1: /block/Conv (conv)
  const auto load_rows = [&](float (&to)[4], int tile_row, int k) {
    const int row = first_row + tile_row;
    stitch_load(to, weight + (row * 576 + k));
  };
  const auto load_columns = [&](float (&to)[1], int tile_column, int k) {
    const int column = first_column + tile_column;
    stitch_fill(to, 0.0f);
    if (!(column < kCols)) return;
    to[0] = column / 14 + k / 3 % 3 >= 1 && column / 14 + k / 3 % 3 < 15 && column % 14 + k % 3 >=
        1 && column % 14 + k % 3 < 15 ? x[k / 9 * 196 + k / 3 % 3 * 14 + column + k % 3 - 15]
        : 0.0f;
  };
  float sum[kThreadM][kThreadN] = {};
  stitch_contract<Tiling, StitchOperand<4, true>, StitchOperand<1, false>>(sum,
      stitch_smem<float>(0), stitch_smem<float>(2304), kDepth, load_rows, load_columns);

#pragma unroll
  for (int i = 0; i < kThreadM; ++i) {
    const int row = first_row + threadIdx.x / Tiling::kColumns * kThreadM + i;
    const float bias_value = bias[row];
    const int column = first_column + threadIdx.x % Tiling::kColumns * kThreadN;
    if (column < kCols) {
      float shortcut_part[kThreadN];
      stitch_load(shortcut_part, shortcut + (row * 196 + column));
      float larger[kThreadN];
#pragma unroll
      for (int j = 0; j < kThreadN; ++j) {
        larger[j] = stitch_max_nan(sum[i][j] + bias_value + shortcut_part[j], 0.0f);
      }
      stitch_store(y + (row * 196 + column), larger);
    }
  }
}
