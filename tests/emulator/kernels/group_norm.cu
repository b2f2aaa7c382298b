// Group normalisation and SiLU: a row split over the blocks of a cluster, which exchange moments.
#include "cluster.cuh"
#include "math.cuh"
#include "reduce.cuh"
#include "vector.cuh"

constexpr int kRows = 4;
constexpr int kGroups = 2;
constexpr int kChannelsPerGroup = 10;
constexpr int kPixels = 1020;
constexpr float kEpsilon = 1e-5f;
constexpr int kCols = kChannelsPerGroup * kPixels;
constexpr int kCluster = 2;
constexpr int kVector = 4;
constexpr int kBlock = 256;
constexpr int kSpan = kBlock * kVector;
constexpr int kColsPerBlock = (kCols / kVector + kCluster - 1) / kCluster * kVector;
constexpr int kSteps = (kColsPerBlock + kSpan - 1) / kSpan;
constexpr int kGrid = kRows * kCluster;
constexpr int kSlotBytes = kBlock / 32 * 4;
constexpr int kSharedBytes = 2 * kSlotBytes + 8;
static_assert(kPixels % kVector == 0, "a vector must stay inside one channel");

// Columns of the row that the block of a given rank holds: the last one may have fewer.
STITCH_DEVICE constexpr int columns_of(int rank) {
  const int left = kCols - rank * kColsPerBlock;
  return left < 0 ? 0 : left < kColsPerBlock ? left : kColsPerBlock;
}

extern "C" __global__ void __cluster_dims__(kCluster, 1, 1) __launch_bounds__(kBlock)
group_norm_silu(const float* __restrict__ sample, const float* __restrict__ weight,
                               const float* __restrict__ bias, float* __restrict__ activated) {
  float* const block_moments = stitch_smem<float>(2 * kSlotBytes);
  const int rank = stitch_cluster_rank();
  const int row = blockIdx.x / kCluster;
  const int column = rank * kColsPerBlock + threadIdx.x * kVector;
  const int columns = columns_of(rank);
  const int local = threadIdx.x * kVector;
  const int start = row * kCols + column;
  constexpr bool kWhole = kCols % (kCluster * kSpan) == 0;  // no ragged end in any block

  float x[kSteps][kVector], gain[kSteps], shift[kSteps];
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    if (kWhole || local + i * kSpan < columns) {
      stitch_load(x[i], sample + start + i * kSpan);
      // The channel of a vector: a shift or a multiplication, once per 4 elements.
      const int channel = row % kGroups * kChannelsPerGroup + (column + i * kSpan) / kPixels;
      gain[i] = weight[channel];
      shift[i] = bias[channel];
    } else {
      stitch_fill(x[i], 0.0f);
    }
  }

  // group 1: /norm1 mean of this block's columns
  float block_mean = 0.0f;
#pragma unroll
  for (int i = 0; i < kSteps; ++i)
#pragma unroll
    for (int j = 0; j < kVector; ++j) block_mean += x[i][j];
  block_mean = stitch_block_reduce<kBlock>(block_mean, StitchSum(), stitch_smem<float>(0));
  block_mean /= columns > 0 ? columns : 1;

  // group 2: squared distances from the block's own mean, so that one exchange is enough
  float block_squares = 0.0f;
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    if (kWhole || local + i * kSpan < columns) {
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        const float distance = x[i][j] - block_mean;
        block_squares += distance * distance;
      }
    }
  }
  block_squares =
      stitch_block_reduce<kBlock>(block_squares, StitchSum(), stitch_smem<float>(kSlotBytes));

  // cluster: Chan's formula over the blocks, in rank order in every block
  if (threadIdx.x == 0) {
    block_moments[0] = block_mean;
    block_moments[1] = block_squares;
  }
  stitch_cluster_barrier();
  float moments[kCluster][2];
  stitch_cluster_gather(moments, block_moments);
  stitch_cluster_arrive();  // the peers may exit once all have read; the wait is at the end
  float row_mean = 0.0f;
#pragma unroll
  for (int r = 0; r < kCluster; ++r) row_mean += moments[r][0] * columns_of(r);
  row_mean *= 1.0f / kCols;
  float row_squares = 0.0f;
#pragma unroll
  for (int r = 0; r < kCluster; ++r) {
    const float distance = moments[r][0] - row_mean;
    row_squares += moments[r][1] + distance * distance * columns_of(r);
  }
  const float scale = stitch_rsqrt(row_squares * (1.0f / kCols) + kEpsilon);

  // group 3: /norm1 scale and shift, /SiLU
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    if (kWhole || local + i * kSpan < columns) {
      const float factor = scale * gain[i];
#pragma unroll
      for (int j = 0; j < kVector; ++j)
        x[i][j] = stitch_silu((x[i][j] - row_mean) * factor + shift[i]);
      stitch_store(activated + start + i * kSpan, x[i]);
    }
  }
  stitch_cluster_wait();
}
