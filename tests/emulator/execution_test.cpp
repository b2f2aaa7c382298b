// Kernels compute what CUDA would, in every schedule and with and without checks.
#include <cmath>
#include <numeric>

#include "emulated_device.h"
#include "support/catch.h"

namespace stitch::test {
namespace {

const char* const kKernels = R"(
#include "reduce.cuh"
#include "vector.cuh"

constexpr int kBlock = 128;

extern "C" __global__ void __launch_bounds__(kBlock)
scale_and_shift(const float* __restrict__ x, float* __restrict__ y, float scale, float shift,
                int count) {
  const int index = blockIdx.x * kBlock + threadIdx.x;
  if (index < count) y[index] = x[index] * scale + shift;
}

extern "C" __global__ void __launch_bounds__(kBlock)
block_sums(const float* __restrict__ x, float* __restrict__ sums) {
  float v[4];
  stitch_load(v, x + (blockIdx.x * kBlock + threadIdx.x) * 4);
  const float sum = stitch_block_reduce<kBlock>(v[0] + v[1] + v[2] + v[3], StitchSum(),
                                                stitch_smem<float>(0));
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
)";

std::vector<Mode> all_modes() {
  std::vector<Mode> modes;
  for (const bool check : {false, true})
    for (const auto order :
         {STITCH_EMULATOR_ASCENDING, STITCH_EMULATOR_DESCENDING, STITCH_EMULATOR_RANDOM})
      modes.push_back({check, false, order, 7, 0});
  return modes;
}

const LoadedKernels& kernels() {
  static const LoadedKernels kLoaded(std::vector<SourceText>{{"execution.cu", kKernels}});
  return kLoaded;
}

}  // namespace

TEST_CASE("an element-wise kernel writes every element and nothing beyond") {
  constexpr int kCount = 1000;
  std::vector<float> x(kCount);
  std::iota(x.begin(), x.end(), 0.0f);
  for (const Mode& mode : all_modes()) {
    start(mode);
    const DeviceBuffer in = DeviceBuffer::holding(x);
    const DeviceBuffer out(kCount * sizeof(float));
    REQUIRE_DRIVER(kernels().run("scale_and_shift", {8, 128}, in.pointer(), out.pointer(), 2.0f,
                                 1.0f, kCount));
    const auto y = out.read<float>();
    for (std::size_t i = 0; i < kCount; ++i) REQUIRE(y[i] == 2.0f * x[i] + 1.0f);
    REQUIRE(reports().empty());
  }
}

TEST_CASE("a block reduction sums over all threads") {
  std::vector<float> x(3 * 512);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17);
  for (const Mode& mode : all_modes()) {
    start(mode);
    const DeviceBuffer in = DeviceBuffer::holding(x);
    const DeviceBuffer out(3 * sizeof(float));
    REQUIRE_DRIVER(kernels().run("block_sums", {3, 128, 4 * 4}, in.pointer(), out.pointer()));
    const auto sums = out.read<float>();
    for (std::size_t b = 0; b < 3; ++b)
      REQUIRE(sums[b] == std::accumulate(x.begin() + static_cast<std::ptrdiff_t>(512 * b),
                                         x.begin() + static_cast<std::ptrdiff_t>(512 * b + 512),
                                         0.0f));
    for (const ReportView& report : reports()) UNSCOPED_INFO(report.text);
    REQUIRE(reports().empty());
  }
}

}  // namespace stitch::test
