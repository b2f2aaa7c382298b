// kernel   k00_top_l_0_gemm
// nodes    /top_l/0/Gemm
// stage 1  ContractionMapping 512 x 512 x 479: block tile 32 x 32 x 16, 128 threads of 2 x 4
//   group 1  matmul -> sum, projected (output)
// values   sum: registers
// bytes    3.01 MB: compulsory
// limit    instructions, 17.3 us on a100 (uncalibrated)
#include "contraction.cuh"
#include "vector.cuh"

constexpr int kCols = 512;
constexpr int kDepth = 479;
constexpr int kBlock = 128;
constexpr int kTileRows = 32;
constexpr int kTileCols = 32;
constexpr int kTileDepth = 16;
constexpr int kThreadM = 2;
constexpr int kThreadN = 4;
constexpr int kColTiles = (kCols + kTileCols - 1) / kTileCols;

extern "C" __global__ void __launch_bounds__(kBlock)
k00_top_l_0_gemm(const float* __restrict__ x, const float* __restrict__ weight,
                 float* __restrict__ projected) {
  using Tiling = StitchTiling<kTileRows, kTileCols, kTileDepth, kThreadM, kThreadN, 36, 36>;
  const int first_row = blockIdx.x / kColTiles * kTileRows;
  const int first_column = blockIdx.x % kColTiles * kTileCols;

  // group 1: /top_l/0/Gemm (matmul)
  const auto load_rows = [&](float (&to)[1], int tile_row, int k) {
    const int row = first_row + tile_row;
    stitch_fill(to, 0.0f);
    if (!(k < kDepth)) return;
    to[0] = x[row * 479 + k];
  };
  const auto load_columns = [&](float (&to)[4], int tile_column, int k) {
    const int column = first_column + tile_column;
    stitch_fill(to, 0.0f);
    if (!(k < kDepth)) return;
    stitch_load(to, weight + (k * 512 + column));
  };
  float sum[kThreadM][kThreadN] = {};
  stitch_contract<Tiling, StitchOperand<1, true>, StitchOperand<4, false>>(sum,
      stitch_smem<float>(0), stitch_smem<float>(2304), kDepth, load_rows, load_columns);

#pragma unroll
  for (int i = 0; i < kThreadM; ++i) {
    const int row = first_row + threadIdx.x / Tiling::kColumns * kThreadM + i;
    const int column = first_column + threadIdx.x % Tiling::kColumns * kThreadN;
    stitch_store(projected + (row * 512 + column), sum[i]);
  }
}
