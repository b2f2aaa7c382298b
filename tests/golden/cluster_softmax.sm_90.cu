// kernel   k00_head_softmax
// nodes    /head/Softmax
// stage 1  RowMapping 4 rows x 8192 columns: 1024 threads per row, 1 row per block, vectors of 4,
//          clusters of 8 blocks
//   group 1  copy, max -> logits, row_max
// barrier  between the blocks of a cluster
// stage 2  RowMapping 4 rows x 8192 columns: 1024 threads per row, 1 row per block, vectors of 4,
//          clusters of 8 blocks
//   group 2  max -> row_max
//   group 3  sub, exp, sum -> power, row_sum
// barrier  between the blocks of a cluster
// stage 3  RowMapping 4 rows x 8192 columns: 1024 threads per row, 1 row per block, vectors of 4,
//          clusters of 8 blocks
//   group 4  sum -> row_sum
//   group 5  div -> probs (output)
// values   logits, power: register arrays;  row_max, row_sum: registers;  row_max, row_sum: shared
//          memory of every block of the cluster
// bytes    2.10 MB: compulsory
// limit    launch and latency, 2.9 us on h100 (uncalibrated)
#include "cluster.cuh"
#include "math.cuh"
#include "reduce.cuh"
#include "vector.cuh"

constexpr int kCols = 8192;
constexpr int kBlock = 1024;
constexpr int kCluster = 8;
constexpr int kThreadsPerRow = 1024;
constexpr int kVector = 4;
constexpr int kSpan = kThreadsPerRow * kVector;
constexpr int kSteps = kCols / kSpan;

extern "C" __global__ void __cluster_dims__(kCluster, 1, 1) __launch_bounds__(kBlock)
k00_head_softmax(const float* __restrict__ logits, float* __restrict__ probs) {
  float* const row_max_shared = stitch_smem<float>(256);
  float* const row_sum_shared = stitch_smem<float>(288);
  stitch_cluster_arrive();
  const int outer = blockIdx.x % kCluster;
  const int lane = threadIdx.x;
  const int row = blockIdx.x / kCluster;

  // group 1: copy, /head/Softmax (max)
  float logits_row[kSteps][kVector];
  float row_max = -stitch_infinity();
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const int column = lane * kVector + i * kSpan;
    stitch_load(logits_row[i], logits + (row * 65536 + outer * kCols + column));
#pragma unroll
    for (int j = 0; j < kVector; ++j) row_max = stitch_max_nan(row_max, logits_row[i][j]);
  }
  row_max = stitch_row_reduce<kThreadsPerRow>(row_max, StitchMaxNan(), stitch_smem<float>(0));
  // Every block of the cluster has begun: its shared memory is there.
  stitch_cluster_wait();
  stitch_cluster_share<kCluster, kThreadsPerRow>(row_max_shared + outer, row_max, lane);

  // The blocks of the cluster have its parts in their own shared memory now.
  stitch_cluster_barrier();
  // stage 2: the mapping of the stage before

  // group 2: /head/Softmax (max)
  float window_max = -stitch_infinity();
  for (int u = 0; u < 8; ++u) {
    window_max = stitch_max_nan(window_max, row_max_shared[u]);
  }
  const float row_max_1 = window_max;

  // group 3: /head/Softmax (sub, exp, sum)
  float power[kSteps][kVector];
  float partial[kVector] = {};
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      power[i][j] = stitch_exp(logits_row[i][j] - row_max_1);
      partial[j] += power[i][j];
    }
  }
  float row_sum = stitch_fold(partial, StitchSum());
  row_sum = stitch_row_reduce<kThreadsPerRow>(row_sum, StitchSum(), stitch_smem<float>(128));
  stitch_cluster_share<kCluster, kThreadsPerRow>(row_sum_shared + outer, row_sum, lane);

  // The blocks of the cluster have its parts in their own shared memory now.
  stitch_cluster_barrier();
  // stage 3: the mapping of the stage before

  // group 4: /head/Softmax (sum)
  float window_sum = 0.0f;
  for (int u_1 = 0; u_1 < 8; ++u_1) {
    window_sum += row_sum_shared[u_1];
  }
  const float row_sum_1 = window_sum;

  // group 5: /head/Softmax (div)
  const StitchReciprocal reciprocal = stitch_reciprocal(row_sum_1);
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const int column = lane * kVector + i * kSpan;
    float probs_part[kVector];
#pragma unroll
    for (int j = 0; j < kVector; ++j) probs_part[j] = stitch_times(power[i][j], reciprocal);
    stitch_store(probs + (row * 65536 + outer * kCols + column), probs_part);
  }
}
