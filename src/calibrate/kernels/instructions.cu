// Cycles per instruction of each class: independent chains fill the schedulers, and one more round
// costs as many issue slots as the comments say. Operands come from memory, so that nothing folds.
#include "math.cuh"

constexpr int kBlock = 256;
constexpr int kChains = 4;

// light: an add and a max in each chain.
extern "C" __global__ void __launch_bounds__(kBlock)
calibrate_light(const float* seed, int rounds, float* to) {
  const float step = seed[0], least = seed[1];
  float x[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) x[c] = seed[c] + static_cast<float>(threadIdx.x);
#pragma unroll 8
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) x[c] = stitch_max_nan(x[c] + step, least);
  }
  to[blockIdx.x * kBlock + threadIdx.x] = x[0] + x[1] + x[2] + x[3];
}

// expensive: exp, log, div, sqrt, tanh and erf, in three chains.
extern "C" __global__ void __launch_bounds__(kBlock)
calibrate_expensive(const float* seed, int rounds, float* to) {
  const float numerator = seed[0];
  float x = seed[1] + static_cast<float>(threadIdx.x) / kBlock;
  float y = seed[2] + static_cast<float>(threadIdx.x);
  float z = seed[3] + static_cast<float>(threadIdx.x) / kBlock;
#pragma unroll 2
  for (int round = 0; round < rounds; ++round) {
    x = stitch_log(stitch_exp(x));
    y = sqrtf(stitch_divide(numerator, y));
    z = erff(tanhf(z));
  }
  to[blockIdx.x * kBlock + threadIdx.x] = x + y + z;
}

// index: a multiply-add, a shift and an exclusive or of integers in each chain.
extern "C" __global__ void __launch_bounds__(kBlock)
calibrate_index(const unsigned* seed, int rounds, unsigned* to) {
  const unsigned factor = seed[0], addend = seed[1];
  unsigned x[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) x[c] = seed[c] + threadIdx.x;
#pragma unroll 8
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) {
      x[c] = x[c] * factor + addend;
      x[c] ^= x[c] >> 7;
    }
  }
  to[blockIdx.x * kBlock + threadIdx.x] = x[0] ^ x[1] ^ x[2] ^ x[3];
}

// reduce: a sum in two chains, a maximum in the other two.
extern "C" __global__ void __launch_bounds__(kBlock)
calibrate_accumulate(const float* seed, int rounds, float* to) {
  const float a = seed[0], b = seed[1] + static_cast<float>(threadIdx.x);
  float sum[2] = {seed[2], seed[3]};
  float most[2] = {seed[2], seed[3]};
#pragma unroll 8
  for (int round = 0; round < rounds; ++round) {
    sum[0] += a, sum[1] += b;
    most[0] = stitch_max_nan(most[0], sum[0]), most[1] = stitch_max_nan(most[1], sum[1]);
  }
  to[blockIdx.x * kBlock + threadIdx.x] = sum[0] + sum[1] + most[0] + most[1];
}

// multiply_add: 16 products of four elements of each operand, which come from shared memory.
extern "C" __global__ void __launch_bounds__(kBlock)
calibrate_product(const float* seed, int rounds, float* to) {
  float* const tile = stitch_smem<float>(0);
  for (int i = threadIdx.x; i < 512; i += kBlock) tile[i] = seed[i % 4];
  __syncthreads();
  float sum[4][4] = {};
  for (int round = 0; round < rounds; ++round) {
    float m[4], n[4];
    const int at = (round + static_cast<int>(threadIdx.x)) % 64 * 4;
#pragma unroll
    for (int i = 0; i < 4; ++i) m[i] = tile[at + i], n[i] = tile[256 + at + i];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) sum[i][j] += m[i] * n[j];
    }
  }
  float total = 0.0f;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) total += sum[i][j];
  }
  to[blockIdx.x * kBlock + threadIdx.x] = total;
}

// load: an address and a load of what the first cache holds, and an add (light), in each chain. The
// table has 32 * kChains elements behind those of the mask.
extern "C" __global__ void __launch_bounds__(kBlock)
calibrate_load(const float* table, int mask, int rounds, float* to) {
  float sum[kChains] = {};
  int at = static_cast<int>(threadIdx.x) & mask;
#pragma unroll 8
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) sum[c] += table[at + 32 * c];
    at = (at + 32 * kChains) & mask;
  }
  to[blockIdx.x * kBlock + threadIdx.x] = sum[0] + sum[1] + sum[2] + sum[3];
}
