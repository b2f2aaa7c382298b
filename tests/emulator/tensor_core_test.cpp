// Tensor-core products, matrix loads and asynchronous copies mean what the PTX ISA says.
#include "emulated_device.h"
#include "kernel_files.h"
#include "support/catch.h"

namespace stitch::test {
namespace {

const LoadedKernels& kernels() {
  static const LoadedKernels kLoaded(std::vector<SourceText>{kernel_file("tensor_core.cu")});
  return kLoaded;
}

// Small integers as binary16: exact, and so is every sum of their products.
std::uint16_t half_of(int value) {
  if (value == 0) return 0;
  const unsigned magnitude = static_cast<unsigned>(value < 0 ? -value : value);
  const unsigned exponent = 31u - static_cast<unsigned>(__builtin_clz(magnitude));
  const unsigned mantissa = (magnitude << (10 - exponent)) & 0x3ffu;
  return static_cast<std::uint16_t>((value < 0 ? 0x8000u : 0u) | (exponent + 15) << 10 | mantissa);
}

std::vector<int> small_values(std::size_t count, int seed) {
  std::vector<int> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<int>((i * 7 + static_cast<std::size_t>(seed) * 5) % 23) - 11;
  return values;
}

std::vector<std::uint16_t> halves(const std::vector<int>& values) {
  std::vector<std::uint16_t> result;
  for (const int value : values) result.push_back(half_of(value));
  return result;
}

}  // namespace

TEST_CASE("half products agree with sums over the matrices, from both layouts of a") {
  const auto a = small_values(16 * 16, 1), b = small_values(8 * 16, 2);
  for (const bool check : {false, true})
    for (const bool transposed : {false, true}) {
      start({check});
      const DeviceBuffer a_memory = DeviceBuffer::holding(halves(a));
      const DeviceBuffer b_memory = DeviceBuffer::holding(halves(b));
      const DeviceBuffer d_memory(16 * 8 * sizeof(float));
      REQUIRE_DRIVER(kernels().run(transposed ? "multiply_transposed" : "multiply_half",
                                   {1, 32, 512}, a_memory.pointer(), b_memory.pointer(),
                                   d_memory.pointer()));
      const auto d = d_memory.read<float>();
      for (std::size_t m = 0; m < 16; ++m)
        for (std::size_t n = 0; n < 8; ++n) {
          int sum = 0;
          for (std::size_t k = 0; k < 16; ++k)
            sum += (transposed ? a[k * 16 + m] : a[m * 16 + k]) * b[n * 16 + k];
          REQUIRE(d[m * 8 + n] == static_cast<float>(sum));
        }
      for (const ReportView& report : reports()) UNSCOPED_INFO(report.text);
      REQUIRE(reports().empty());
    }
}

TEST_CASE("int8 products agree with sums over the matrices") {
  const auto a = small_values(16 * 32, 3), b = small_values(8 * 32, 4);
  const auto narrow = [](const std::vector<int>& values) {
    std::vector<signed char> result;
    for (const int value : values) result.push_back(static_cast<signed char>(value * 11));
    return result;
  };
  start({true});
  const DeviceBuffer a_memory = DeviceBuffer::holding(narrow(a));
  const DeviceBuffer b_memory = DeviceBuffer::holding(narrow(b));
  const DeviceBuffer d_memory(16 * 8 * sizeof(int));
  REQUIRE_DRIVER(kernels().run("multiply_int8", {1, 32}, a_memory.pointer(), b_memory.pointer(),
                               d_memory.pointer()));
  const auto d = d_memory.read<int>();
  for (std::size_t m = 0; m < 16; ++m)
    for (std::size_t n = 0; n < 8; ++n) {
      int sum = 0;
      for (std::size_t k = 0; k < 32; ++k) sum += a[m * 32 + k] * b[n * 32 + k] * 121;
      REQUIRE(d[m * 8 + n] == sum);
    }
  REQUIRE(reports().empty());
}

TEST_CASE("asynchronous copies land when they are waited for, zeros where nothing is") {
  std::vector<float> x(128);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) + 1.0f;
  for (const bool check : {false, true}) {
    start({check});
    const DeviceBuffer in = DeviceBuffer::holding(x), out(128 * sizeof(float));
    REQUIRE_DRIVER(kernels().run("copy_waits", {1, 32, 512}, in.pointer(), out.pointer(), 120));
    const auto y = out.read<float>();
    for (std::size_t i = 0; i < 128; ++i) {
      const std::size_t from = (i + 4) % 128;
      REQUIRE(y[i] == (from < 120 ? x[from] : 0.0f));
    }
    for (const ReportView& report : reports()) UNSCOPED_INFO(report.text);
    REQUIRE(reports().empty());
  }
}

TEST_CASE("memory into which a copy is in flight must not be read, and copies must be awaited") {
  start({true});
  const DeviceBuffer x = DeviceBuffer::holding(std::vector<float>(32)), y(32 * sizeof(float));
  CHECK(kernels().run("copy_read_too_early", {1, 32, 128}, x.pointer(), y.pointer()) ==
        CUDA_ERROR_LAUNCH_FAILED);
  REQUIRE(!reports().empty());
  CHECK(reports()[0].kind == "asynchronous copy");
  CHECK(reports()[0].line ==
        marked_lines(kernel_file("tensor_core.cu"), "here", "copy_read_too_early").at(0));
  stitch_emulator_clear_reports();
  REQUIRE_DRIVER(kernels().run("copy_never_awaited", {1, 32, 128}, x.pointer(), y.pointer()));
  REQUIRE(reports().size() == 1);
  CHECK(reports()[0].text.find("copies that it has not waited for") != std::string::npos);
}

}  // namespace stitch::test
