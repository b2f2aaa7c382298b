// kernel   k00_attention_cast_pow_reduce_mean_add_sqrt
// nodes    /attention/{Cast, Cast_1, Pow, ReduceMean, Add, Sqrt, Div, Mul, Mul_1, Mul_3, Mul_2,
//          Mul_4, Sub, Add_1, Cast_2}
// stage 1  RowMapping 32768 rows x 128 columns: 8 threads per row, 32 rows per block, vectors of 8
//   group 1  cast, mul, sum -> converted, row_sum
//   group 2  mul, add, sqrt -> root
//   group 3  div, cast, mul, sub, mul, add, cast -> rotated (output)
// values   converted: register arrays;  root, row_sum: registers
// bytes    17.3 MB: compulsory
// limit    instructions, 23.4 us on a100 (uncalibrated)
#include "convert.cuh"
#include "math.cuh"
#include "reduce.cuh"
#include "vector.cuh"

constexpr int kCols = 128;
constexpr int kBlock = 256;
constexpr int kThreadsPerRow = 8;
constexpr int kRowThreads = kBlock / kThreadsPerRow;
constexpr int kRowsPerBlock = kRowThreads;
constexpr int kVector = 8;
constexpr int kSpan = kThreadsPerRow * kVector;
constexpr int kSteps = kCols / kSpan;

extern "C" __global__ void __launch_bounds__(kBlock)
k00_attention_cast_pow_reduce_mean_add_sqrt(const __half* __restrict__ query,
                                        const __half* __restrict__ weight,
                                        const float* __restrict__ cosine,
                                        const float* __restrict__ sine,
                                        __half* __restrict__ rotated) {
  const int lane = threadIdx.x % kThreadsPerRow;
  const int team = threadIdx.x / kThreadsPerRow;
  const int row = blockIdx.x * kRowsPerBlock + team;

  // group 1: /attention/Cast (cast), /attention/Pow (mul), /attention/ReduceMean (sum)
  float converted[kSteps][kVector];
  float partial[kVector] = {};
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const int column = lane * kVector + i * kSpan;
    float query_part[kVector];
    stitch_load(query_part, query + (row * kCols + column));
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      converted[i][j] = query_part[j];
      partial[j] += converted[i][j] * converted[i][j];
    }
  }
  float row_sum = stitch_fold(partial, StitchSum());
  row_sum = stitch_row_reduce<kThreadsPerRow>(row_sum, StitchSum());

  // group 2: /attention/ReduceMean (mul), /attention/Add (add), /attention/Sqrt (sqrt)
  const float root = sqrtf(row_sum * 0.0078125f + 1e-06f);

  // group 3: /attention/Div (div), /attention/Cast_1 (cast), /attention/Mul (mul), /attention/Mul_1
  // (mul), /attention/Mul_2 (mul), /attention/Sub (sub), /attention/Mul_3 (mul), /attention/Mul_4
  // (mul), /attention/Add_1 (add), /attention/Cast_2 (cast)
  const StitchReciprocal reciprocal = stitch_reciprocal(root);
  const StitchReciprocal reciprocal_1 = stitch_reciprocal(root);
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const int column = lane * kVector + i * kSpan;
    const bool holds = column < 64;
    float weight_part[kVector];
    if (holds) stitch_load(weight_part, weight + column);
    float cosine_part[kVector];
    if (holds) stitch_load(cosine_part, cosine + (row / 32 * 64 + column));
    float weight_part_part[kVector];
    if (holds) stitch_load(weight_part_part, weight + (column + 64));
    float sine_part[kVector];
    if (holds) stitch_load(sine_part, sine + (row / 32 * 64 + column));
    float weight_part_part_1[kVector];
    if (!holds) stitch_load(weight_part_part_1, weight + column);
    float cosine_part_part[kVector];
    if (!holds) stitch_load(cosine_part_part, cosine + (row / 32 * 64 + column - 64));
    float weight_part_part_2[kVector];
    if (!holds) stitch_load(weight_part_part_2, weight + (column - 64));
    float sine_part_part[kVector];
    if (!holds) stitch_load(sine_part_part, sine + (row / 32 * 64 + column - 64));
    float rotated_part[kVector];
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      const float difference = stitch_times(converted[i][j], reciprocal) * weight_part[j] *
          cosine_part[j] - stitch_times(converted[(i + 1) % kSteps][j], reciprocal) *
          weight_part_part[j] * sine_part[j];
      const float total = stitch_times(converted[i][j], reciprocal_1) * weight_part_part_1[j] *
          cosine_part_part[j] + stitch_times(converted[(i + 1) % kSteps][j], reciprocal_1) *
          weight_part_part_2[j] * sine_part_part[j];
      rotated_part[j] = stitch_rounded<__half>(holds ? difference : total);
    }
    stitch_store(rotated + (row * kCols + column), rotated_part);
  }
}
