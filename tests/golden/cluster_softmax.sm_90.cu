// kernel   k00_head_softmax
// nodes    /head/Softmax
// stage 1  RowMapping 4 rows x 8192 columns: 1024 threads per row, 1 row per block, vectors of 4,
//          clusters of 8 blocks
//   group 1  copy, max -> logits, row_max
//   group 2  abs, compare, select -> shift
//   group 3  sub, exp, sum -> row_sum
// barrier  between the blocks of a cluster
// stage 2  RowMapping 4 rows x 8192 columns: 1024 threads per row, 1 row per block, vectors of 4,
//          clusters of 8 blocks
//   group 4  max, sub, exp, mul, sum -> row_max, row_sum
//   group 5  sub, exp, div -> probs (output)
// values   logits: register arrays;  row_max, row_sum, shift: registers;  row_max, row_sum: shared
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

  // group 2: /head/Softmax (abs, compare, select)
  const float shift = fabsf(row_max) < stitch_infinity() ? row_max : 0.0f;

  // group 3: /head/Softmax (sub, exp, sum)
  float partial[kVector] = {};
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
#pragma unroll
    for (int j = 0; j < kVector; ++j) partial[j] += stitch_exp(logits_row[i][j] - shift);
  }
  float row_sum = stitch_fold(partial, StitchSum());
  row_sum = stitch_row_reduce<kThreadsPerRow>(row_sum, StitchSum(), stitch_smem<float>(128));
  stitch_cluster_share<kCluster, kThreadsPerRow>(row_sum_shared + outer, row_sum, lane);

  // The blocks of the cluster have its parts in their own shared memory now.
  stitch_cluster_barrier();
  // stage 2: the mapping of the stage before

  // group 4: /head/Softmax (max, sub, exp, mul, sum)
  float window_max = -stitch_infinity();
  for (int u = 0; u < 8; ++u) {
    window_max = stitch_max_nan(window_max, row_max_shared[u]);
  }
  float window_sum = 0.0f;
  for (int u_1 = 0; u_1 < 8; ++u_1) {
    window_sum += row_sum_shared[u_1] * stitch_exp(row_max_shared[u_1] - window_max);
  }
  const float row_max_1 = window_max;
  const float row_sum_1 = window_sum;

  // group 5: /head/Softmax (sub, exp, div)
  const StitchReciprocal reciprocal = stitch_reciprocal(row_sum_1);
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const int column = lane * kVector + i * kSpan;
    float probs_part[kVector];
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      probs_part[j] = stitch_times(stitch_exp(logits_row[i][j] - row_max_1), reciprocal);
    }
    stitch_store(probs + (row * 65536 + outer * kCols + column), probs_part);
  }
}
