// Kernels as the emitter writes them run without reports in every schedule, and give what a sum in
// double gives.
#include <cmath>
#include <functional>

#include "emulated_device.h"
#include "kernel_files.h"
#include "support/catch.h"

namespace stitch::test {
namespace {

// Roughly normal values, the same in every run.
std::vector<float> random_values(std::size_t count, unsigned seed, double mean = 0.0,
                                 double deviation = 1.0) {
  std::vector<float> values(count);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
  for (float& value : values) {
    double sum = 0.0;
    for (int k = 0; k < 3; ++k) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      sum += static_cast<double>(state >> 40) / (1 << 24) - 0.5;
    }
    value = static_cast<float>(mean + deviation * 2.0 * sum);
  }
  return values;
}

void expect_near(const std::vector<float>& found, double tolerance,
                 const std::function<double(std::size_t)>& expected) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double want = expected(i);
    const double error = std::fabs(static_cast<double>(found[i]) - want);
    if (!(error <= tolerance * std::fmax(1.0, std::fabs(want))))
      FAIL("element " << i << " is " << found[i] << " instead of " << want);
  }
}

// Runs `body` with checks in three orders, without checks on one and on two host threads.
void in_every_mode(const std::function<void()>& body) {
  std::vector<Mode> modes = {{false, false, STITCH_EMULATOR_ASCENDING, 0, 1},
                             {false, false, STITCH_EMULATOR_RANDOM, 5, 2}};
  for (const auto order :
       {STITCH_EMULATOR_ASCENDING, STITCH_EMULATOR_DESCENDING, STITCH_EMULATOR_RANDOM})
    modes.push_back({true, false, order, 11, 0});
  for (const Mode& mode : modes) {
    start(mode);
    body();
    for (const ReportView& report : reports()) UNSCOPED_INFO(report.text);
    REQUIRE(reports().empty());
  }
}

const LoadedKernels& kernels() {
  static const LoadedKernels kLoaded(std::vector<SourceText>{
      kernel_file("softmax.cu"), kernel_file("layer_norm.cu"), kernel_file("column_mean.cu"),
      kernel_file("group_norm.cu"), kernel_file("batch_norm.cu")});
  return kLoaded;
}

std::size_t at(std::size_t row, std::size_t columns, std::size_t column) {
  return row * columns + column;
}

}  // namespace

TEST_CASE("softmax over ragged rows runs clean") {
  constexpr std::size_t kRows = 37, kCols = 702;
  const auto x = random_values(kRows * kCols, 1, 0.0, 3.0);
  in_every_mode([&] {
    const DeviceBuffer in = DeviceBuffer::holding(x);
    const DeviceBuffer out(kRows * kCols * sizeof(float));
    REQUIRE_DRIVER(kernels().run("softmax_rows", {5, 256}, in.pointer(), out.pointer()));
    std::vector<double> sum(kRows);
    for (std::size_t r = 0; r < kRows; ++r)
      for (std::size_t c = 0; c < kCols; ++c)
        sum[r] += std::exp(static_cast<double>(x[at(r, kCols, c)]));
    expect_near(out.read<float>(), 1e-6, [&](std::size_t i) {
      return std::exp(static_cast<double>(x[i])) / sum[i / kCols];
    });
  });
}

TEST_CASE("layer normalisation through shared memory runs clean") {
  constexpr std::size_t kRows = 5, kCols = 702;
  const auto dense = random_values(kRows * kCols, 1), residual = random_values(kRows * kCols, 2);
  const auto weight = random_values(kCols, 3, 1.0, 0.2), bias = random_values(kCols, 4);
  in_every_mode([&] {
    const DeviceBuffer d = DeviceBuffer::holding(dense), r = DeviceBuffer::holding(residual);
    const DeviceBuffer w = DeviceBuffer::holding(weight), b = DeviceBuffer::holding(bias);
    const DeviceBuffer hidden(kRows * kCols * sizeof(float));
    const DeviceBuffer activated(kRows * kCols * sizeof(float));
    REQUIRE_DRIVER(kernels().run("layer_norm_gelu", {5, 256, 64}, d.pointer(), r.pointer(),
                                 w.pointer(), b.pointer(), hidden.pointer(), activated.pointer()));
    std::vector<double> mean(kRows), variance(kRows);
    const auto sum = [&](std::size_t i) { return static_cast<double>(dense[i] + residual[i]); };
    for (std::size_t i = 0; i < kRows * kCols; ++i) mean[i / kCols] += sum(i) / kCols;
    for (std::size_t i = 0; i < kRows * kCols; ++i)
      variance[i / kCols] += std::pow(sum(i) - mean[i / kCols], 2) / kCols;
    expect_near(hidden.read<float>(), 1e-6, sum);
    expect_near(activated.read<float>(), 2e-5, [&](std::size_t i) {
      const double h = (sum(i) - mean[i / kCols]) / std::sqrt(variance[i / kCols] + 1e-5) *
                           static_cast<double>(weight[i % kCols]) +
                       static_cast<double>(bias[i % kCols]);
      return 0.5 * h * (1.0 + std::erf(h / std::sqrt(2.0)));
    });
  });
}

TEST_CASE("a column reduction finished by ticket runs clean") {
  constexpr std::size_t kRows = 1000, kCols = 192;
  const auto x = random_values(kRows * kCols, 1);
  in_every_mode([&] {
    const DeviceBuffer in = DeviceBuffer::holding(x);
    const DeviceBuffer out(kCols * sizeof(float)), strips(8 * kCols * sizeof(float));
    const DeviceBuffer counters = DeviceBuffer::holding(std::vector<unsigned>(16));
    REQUIRE_DRIVER(kernels().run("column_mean", {2, 256, 8 * 128 * 4 + 4, 1, false, 8},
                                 in.pointer(), out.pointer(), strips.pointer(),
                                 counters.pointer()));
    std::vector<double> mean(kCols);
    for (std::size_t i = 0; i < x.size(); ++i) mean[i % kCols] += static_cast<double>(x[i]) / kRows;
    expect_near(out.read<float>(), 1e-5, [&](std::size_t c) { return mean[c]; });
  });
}

TEST_CASE("group normalisation over a cluster runs clean") {
  constexpr std::size_t kRows = 4, kGroups = 2, kChannels = 10, kPixels = 1020;
  constexpr std::size_t kCols = kChannels * kPixels;
  const auto x = random_values(kRows * kCols, 1, 3.0);
  const auto weight = random_values(kGroups * kChannels, 2, 1.0, 0.3);
  const auto bias = random_values(kGroups * kChannels, 3);
  in_every_mode([&] {
    const DeviceBuffer in = DeviceBuffer::holding(x), w = DeviceBuffer::holding(weight);
    const DeviceBuffer b = DeviceBuffer::holding(bias), out(x.size() * sizeof(float));
    REQUIRE_DRIVER(kernels().run("group_norm_silu", {8, 256, 2 * 8 * 4 + 8, 2}, in.pointer(),
                                 w.pointer(), b.pointer(), out.pointer()));
    std::vector<double> mean(kRows), variance(kRows);
    for (std::size_t i = 0; i < x.size(); ++i) mean[i / kCols] += static_cast<double>(x[i]) / kCols;
    for (std::size_t i = 0; i < x.size(); ++i)
      variance[i / kCols] += std::pow(static_cast<double>(x[i]) - mean[i / kCols], 2) / kCols;
    expect_near(out.read<float>(), 2e-5, [&](std::size_t i) {
      const std::size_t row = i / kCols;
      const std::size_t channel = row % kGroups * kChannels + i % kCols / kPixels;
      const double h = (static_cast<double>(x[i]) - mean[row]) / std::sqrt(variance[row] + 1e-5) *
                           static_cast<double>(weight[channel]) +
                       static_cast<double>(bias[channel]);
      return h / (1.0 + std::exp(-h));
    });
  });
}

TEST_CASE("batch normalisation over two grid barriers runs clean") {
  constexpr std::size_t kBatch = 4, kChannels = 5, kPixels = 144;
  const auto x = random_values(kBatch * kChannels * kPixels, 1, 20.0);
  const auto weight = random_values(kChannels, 2, 1.0, 0.3), bias = random_values(kChannels, 3);
  const auto mean_before = random_values(kChannels, 4);
  const auto variance_before = random_values(kChannels, 5, 2.0, 0.3);
  in_every_mode([&] {
    const DeviceBuffer in = DeviceBuffer::holding(x), w = DeviceBuffer::holding(weight);
    const DeviceBuffer b = DeviceBuffer::holding(bias), m0 = DeviceBuffer::holding(mean_before);
    const DeviceBuffer v0 = DeviceBuffer::holding(variance_before), out(x.size() * sizeof(float));
    const DeviceBuffer m(kChannels * sizeof(float)), v(kChannels * sizeof(float));
    const DeviceBuffer moments(kChannels * 2 * 2 * sizeof(float));
    const DeviceBuffer values(kChannels * 2 * sizeof(float));
    const DeviceBuffer counter = DeviceBuffer::holding(std::vector<unsigned>{0});
    REQUIRE_DRIVER(kernels().run("batch_norm_relu", {10, 128, 2 * 4 * 4, 1, true}, in.pointer(),
                                 w.pointer(), b.pointer(), m0.pointer(), v0.pointer(),
                                 out.pointer(), m.pointer(), v.pointer(), moments.pointer(),
                                 values.pointer(), counter.pointer()));
    std::vector<double> mean(kChannels), variance(kChannels);
    const auto channel = [&](std::size_t i) { return i / kPixels % kChannels; };
    const double count = kBatch * kPixels;
    for (std::size_t i = 0; i < x.size(); ++i)
      mean[channel(i)] += static_cast<double>(x[i]) / count;
    for (std::size_t i = 0; i < x.size(); ++i)
      variance[channel(i)] += std::pow(static_cast<double>(x[i]) - mean[channel(i)], 2) / count;
    expect_near(out.read<float>(), 3e-5, [&](std::size_t i) {
      const std::size_t c = channel(i);
      return std::fmax(0.0, (static_cast<double>(x[i]) - mean[c]) / std::sqrt(variance[c] + 1e-5) *
                                    static_cast<double>(weight[c]) +
                                static_cast<double>(bias[c]));
    });
  });
}

TEST_CASE("a barrier between resident blocks needs no cooperative launch") {
  // Blocks that wait make room for more blocks, as many as the device holds at once.
  static const LoadedKernels kBarrier(std::vector<SourceText>{{"resident.cu", R"(
#include "grid.cuh"
extern "C" __global__ void __launch_bounds__(32)
wait_for_all(int* y, unsigned* counter) {
  stitch_grid_barrier(counter, gridDim.x);
  if (threadIdx.x == 0) y[blockIdx.x] = 1;
}
)"}});
  for (const bool check : {false, true}) {
    start({check});
    const DeviceBuffer y(100 * sizeof(int));
    const DeviceBuffer counter = DeviceBuffer::holding(std::vector<unsigned>{0});
    REQUIRE_DRIVER(kBarrier.run("wait_for_all", {100, 32}, y.pointer(), counter.pointer()));
    for (const int value : y.read<int>()) REQUIRE(value == 1);
    REQUIRE(reports().empty());
  }
}

TEST_CASE("counters measure sectors, distinct bytes, banks and barriers") {
  start({true, true});
  constexpr std::size_t kRows = 5, kCols = 702;
  const DeviceBuffer d = DeviceBuffer::holding(random_values(kRows * kCols, 1));
  const DeviceBuffer r = DeviceBuffer::holding(random_values(kRows * kCols, 2));
  const DeviceBuffer w = DeviceBuffer::holding(random_values(kCols, 3));
  const DeviceBuffer b = DeviceBuffer::holding(random_values(kCols, 4));
  const DeviceBuffer hidden(kRows * kCols * sizeof(float));
  const DeviceBuffer activated(kRows * kCols * sizeof(float));
  REQUIRE_DRIVER(kernels().run("layer_norm_gelu", {5, 256, 64}, d.pointer(), r.pointer(),
                               w.pointer(), b.pointer(), hidden.pointer(), activated.pointer()));
  const auto c = counters_of("layer_norm_gelu");
  CHECK(c.launches == 1);
  CHECK(c.blocks == 5);
  CHECK(c.threads == 5 * 256);
  CHECK(c.block_barriers == 5 * 2);
  CHECK(c.shuffles == 5 * 8 * 10);  // two butterflies of five steps in each of eight warps
  const std::uint64_t row_bytes = kCols * 4;
  CHECK(c.distinct_load_bytes == 2 * kRows * row_bytes + 2 * row_bytes);
  CHECK(c.distinct_store_bytes == 2 * kRows * row_bytes);
  CHECK(c.load_bytes == 4 * kRows * row_bytes);  // weights once per row
  CHECK(c.store_bytes == 2 * kRows * row_bytes);
  CHECK(32 * c.load_sectors >= c.load_bytes);
  CHECK(32 * c.load_sectors < c.load_bytes * 11 / 10);
  CHECK(c.shared_wavefronts == c.shared_ideal_wavefronts);  // no bank conflicts
}

TEST_CASE("bank conflicts and scattered sectors show in the counters") {
  static const LoadedKernels kScattered(std::vector<SourceText>{{"scattered.cu", R"(
#include "vector.cuh"
extern "C" __global__ void __launch_bounds__(32)
column_walk(const float* x, float* y) {
  float* const shared = stitch_smem<float>(0);
  shared[threadIdx.x * 32] = x[threadIdx.x * 8];
  __syncthreads();
  y[threadIdx.x] = shared[threadIdx.x * 32];
}
)"}});
  start({true, true});
  const DeviceBuffer x = DeviceBuffer::holding(random_values(256, 1)), y(32 * sizeof(float));
  REQUIRE_DRIVER(kScattered.run("column_walk", {1, 32, 4096}, x.pointer(), y.pointer()));
  const auto c = counters_of("column_walk");
  CHECK(c.load_sectors == 32);
  CHECK(c.store_sectors == 4);
  CHECK(c.shared_requests == 2);
  CHECK(c.shared_wavefronts == 64);
  CHECK(c.shared_ideal_wavefronts == 2);
}

TEST_CASE("lanes that skip a load in some iterations still share requests in the others") {
  const LoadedKernels kernels(std::vector<SourceText>{{"window.cu", R"(
#include "base.cuh"
extern "C" __global__ void __launch_bounds__(32)
window(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y) {
  const int lane = threadIdx.x;
  float sum = 0;
#pragma unroll 1
  for (int v = 0; v < 3; ++v)
    sum += (v + lane >= 1 && v + lane < 33 ? x[v + lane - 1] : 0.0f) * w[v];
  y[lane] = sum;
}
)"}});
  start({.check = false, .count = true});
  const DeviceBuffer x = DeviceBuffer::holding(std::vector<float>(32, 1.0f));
  const DeviceBuffer w = DeviceBuffer::holding(std::vector<float>{1, 2, 3});
  const DeviceBuffer y(32 * sizeof(float));
  REQUIRE_DRIVER(kernels.run("window", {1, 32}, x.pointer(), w.pointer(), y.pointer()));
  CHECK(reports().empty());
  const auto c = counters_of("window");
  CHECK(c.load_requests == 6);      // three of x, three of w
  CHECK(c.load_sectors == 12 + 3);  // 31, 32 and 31 neighbours are four sectors each
  CHECK(c.load_bytes == (31 + 32 + 31 + 3) * 4);
  CHECK(c.store_sectors == 4);
}

}  // namespace stitch::test
