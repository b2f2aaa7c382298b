// Training batch normalisation and ReLU: channels split over blocks, two grid barriers.
#include "grid.cuh"
#include "math.cuh"
#include "reduce.cuh"
#include "streaming.cuh"
#include "vector.cuh"

constexpr int kBatch = 4;
constexpr int kChannels = 5;
constexpr int kPixels = 12 * 12;
constexpr float kEpsilon = 1e-5f;
constexpr float kMomentum = 0.9f;
constexpr int kSplits = 2;
constexpr int kVector = 4;
constexpr int kBlock = 128;
constexpr int kPlanesPerBlock = (kBatch + kSplits - 1) / kSplits;
constexpr int kVectorsPerPlane = kPixels / kVector;
constexpr int kVectorsPerBlock = kPlanesPerBlock * kVectorsPerPlane;
constexpr int kSteps = (kVectorsPerBlock + kBlock - 1) / kBlock;
constexpr int kGrid = kChannels * kSplits;
constexpr int kSlotBytes = kBlock / 32 * 4;
constexpr int kSharedBytes = 2 * kSlotBytes;
static_assert(kPixels % kVector == 0, "a vector must stay inside one plane");
static_assert(kChannels <= kBlock, "stage 2 is one block");

extern "C" __global__ void __launch_bounds__(kBlock, 1)
batch_norm_relu(const float* __restrict__ sample, const float* __restrict__ weight,
                       const float* __restrict__ bias, const float* __restrict__ mean_before,
                       const float* __restrict__ variance_before, float* __restrict__ activated,
                       float* __restrict__ running_mean, float* __restrict__ running_variance,
                       float* moments, float* channel_values, unsigned* counter) {
  const int channel = blockIdx.x / kSplits;
  const int split = blockIdx.x % kSplits;
  const int planes = min(kPlanesPerBlock, kBatch - split * kPlanesPerBlock);
  const int vectors = planes * kVectorsPerPlane;
  const float count = static_cast<float>(planes * kPixels);

  float x[kSteps][kVector];
  int offset[kSteps];
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    const int vector = i * kBlock + threadIdx.x;
    const int plane = vector / kVectorsPerPlane;  // a multiplication: the divisor is constant
    offset[i] = ((split * kPlanesPerBlock + plane) * kChannels + channel) * kPixels +
                (vector - plane * kVectorsPerPlane) * kVector;
    if (vector < vectors) stitch_load(x[i], sample + offset[i]);
    else stitch_fill(x[i], 0.0f);
  }

  // group 1: /bn1 mean and squared distances of this block's planes
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kSteps; ++i)
#pragma unroll
    for (int j = 0; j < kVector; ++j) sum += x[i][j];
  sum = stitch_block_reduce<kBlock>(sum, StitchSum(), stitch_smem<float>(0));
  const float split_mean = sum / count;
  float squares = 0.0f;
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    if (i * kBlock + static_cast<int>(threadIdx.x) < vectors) {
#pragma unroll
      for (int j = 0; j < kVector; ++j)
        squares += (x[i][j] - split_mean) * (x[i][j] - split_mean);
    }
  }
  squares = stitch_block_reduce<kBlock>(squares, StitchSum(), stitch_smem<float>(kSlotBytes));
  if (threadIdx.x == 0) {
    moments[blockIdx.x * 2] = split_mean;
    moments[blockIdx.x * 2 + 1] = squares;
  }

  stitch_leader_grid_barrier(counter, kGrid);

  // stage 2, group 2: /bn1 channel statistics, one thread per channel, splits in index order
  if (blockIdx.x == 0 && threadIdx.x < kChannels) {
    const int c = threadIdx.x;
    StitchMoments total = {0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int s = 0; s < kSplits; ++s) {
      const int split_planes = min(kPlanesPerBlock, kBatch - s * kPlanesPerBlock);
      total = StitchMomentsCombine()(
          total, {static_cast<float>(split_planes * kPixels), moments[(c * kSplits + s) * 2],
                  moments[(c * kSplits + s) * 2 + 1]});
    }
    const float variance = total.squares * (1.0f / (kBatch * kPixels));
    channel_values[2 * c] = total.mean;
    channel_values[2 * c + 1] = stitch_rsqrt(variance + kEpsilon) * weight[c];
    running_mean[c] = mean_before[c] * kMomentum + total.mean * (1.0f - kMomentum);
    running_variance[c] = variance_before[c] * kMomentum + variance * (1.0f - kMomentum);
  }
  const float shift = bias[channel];  // ready before the barrier opens

  stitch_grid_barrier(counter, 2 * kGrid);

  // stage 3, group 3: /bn1 normalise, /Relu
  const float mean = channel_values[2 * channel];
  const float scale = channel_values[2 * channel + 1];
#pragma unroll
  for (int i = 0; i < kSteps; ++i) {
    if (i * kBlock + static_cast<int>(threadIdx.x) < vectors) {
#pragma unroll
      for (int j = 0; j < kVector; ++j) x[i][j] = stitch_relu((x[i][j] - mean) * scale + shift);
      stitch_store(activated + offset[i], x[i]);
    }
  }
}
