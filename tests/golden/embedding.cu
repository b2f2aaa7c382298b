// kernel   k00_pad
// nodes    /Pad
// stage 1  LoopMapping 786432 elements: 256 threads per block, vectors of 4
//   group 1  copy -> padded (output)
// values   nothing is kept
// starts   prompt at element 768
// bytes    6.76 MB: compulsory
// limit    memory, 4.8 us on a100 (uncalibrated)
#include "integer.cuh"
#include "vector.cuh"

constexpr int kBlock = 256;
constexpr int kVector = 4;

extern "C" __global__ void __launch_bounds__(kBlock)
k00_pad(const float* __restrict__ prompt, const long long* __restrict__ ids,
        const float* __restrict__ table, float* __restrict__ padded) {
  const int element = (blockIdx.x * kBlock + threadIdx.x) * kVector;

  // group 1: /Pad (copy)
  const bool holds = element / 768 % 128 < 19;
  float prompt_part[kVector];
  if (holds) stitch_load(prompt_part, prompt + (element / 98304 * 15360 + element % 98304));
  const bool holds_value = element / 768 % 128 < 119;
  const int ids_index =
      stitch_gathered(!holds && holds_value ? ids[element / 98304 * 100 + element / 768 % 128 - 19]
      : 0ll, 0, 1999);
  float table_part[kVector];
  if (!holds && holds_value) stitch_load(table_part, table + (ids_index * 768 + element % 768));
  float prompt_part_1[kVector];
#pragma unroll
  for (int j = 0; j < kVector; ++j) {
    prompt_part_1[j] = holds ? prompt_part[j] : holds_value ? table_part[j] : 0.0f;
  }
  stitch_store(padded + element, prompt_part_1);
}
