// One model used by many threads at once on the emulated device, each with a context, a stream and
// buffers of its own. Built with ThreadSanitizer this shows that the launcher shares nothing that
// it writes (scripts/sanitize).
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "emulator/host_image.h"
#include "runtime/driver.h"
#include "runtime/entry_points.h"
#include "runtime/program_codec.h"
#include "runtime/runner/device_buffer.h"
#include "support/catch.h"

namespace stitch {
namespace {

namespace fs = std::filesystem;

constexpr int kRows = 4;
constexpr int kColumns = 32;
constexpr std::uint64_t kMatrixBytes = kRows * kColumns * sizeof(float);
constexpr std::uint64_t kWeightsBytes = kColumns * kColumns * sizeof(float);
constexpr std::uint64_t kCountersBytes = 256;

// partial = x + 1; product = partial * weights; y = 2 * product, and the blocks are counted in the
// counters that every inference zeroes first.
constexpr const char* kSource = R"(
extern "C" __global__ void add_one(const float* x, float* partial) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  partial[at] = x[at] + 1.0f;
}

extern "C" __global__ void twice(const float* product, float* y, float* counter) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  y[at] = 2.0f * product[at];
  if (threadIdx.x == 0) atomicAdd(counter, 1.0f);
}
)";

runtime::KernelLaunch kernel(const char* function, std::vector<runtime::KernelArgument> arguments) {
  runtime::KernelLaunch launch;
  launch.function = function;
  launch.grid.x = kRows;
  launch.block.x = kColumns;
  launch.arguments = std::move(arguments);
  launch.source_nodes = {std::string("/") + function};
  return launch;
}

runtime::MatmulCall product(const runtime::BufferRef& a, const runtime::BufferRef& d) {
  const auto row_major = [](const runtime::BufferRef& buffer) {
    return runtime::MatrixLayout{buffer, runtime::ElementType::kFloat32,
                                 runtime::MatrixOrder::kRowMajor, kColumns};
  };
  runtime::MatmulCall call;
  call.name = "product";
  call.m = kRows;
  call.n = kColumns;
  call.k = kColumns;
  call.a = row_major(a);
  call.b = row_major({runtime::BufferKind::kWeights, 0, 0, kWeightsBytes});
  call.d = row_major(d);
  return call;
}

runtime::LaunchProgram program_of(std::uint64_t image_bytes) {
  using runtime::BufferKind;
  const runtime::BufferRef x = {BufferKind::kInput, 0, 0, kMatrixBytes};
  const runtime::BufferRef y = {BufferKind::kOutput, 0, 0, kMatrixBytes};
  const runtime::BufferRef counter = {BufferKind::kWorkspace, 0, 0, sizeof(float)};
  const runtime::BufferRef partial = {BufferKind::kWorkspace, 0, kCountersBytes, kMatrixBytes};
  const runtime::BufferRef multiplied = {BufferKind::kWorkspace, 0, kCountersBytes + kMatrixBytes,
                                         kMatrixBytes};
  runtime::LaunchProgram program;
  program.model_name = "shared";
  program.inputs = {{"x", runtime::ElementType::kFloat32, {kRows, kColumns}, kMatrixBytes}};
  program.outputs = {{"y", runtime::ElementType::kFloat32, {kRows, kColumns}, kMatrixBytes}};
  program.weights_segments = {{0, kWeightsBytes}};
  program.weights_bytes = kWeightsBytes;
  runtime::ArchitectureProgram architecture;
  architecture.architecture = 80;
  architecture.unit_count = 1;
  architecture.images = {{runtime::ImageKind::kHost, 0, 0, image_bytes}};
  architecture.workspace_bytes = kCountersBytes + 2 * kMatrixBytes;
  architecture.counters = {0, kCountersBytes};
  architecture.items = {{{kernel("add_one", {x, partial})}, {}},
                        {{product(partial, multiplied)}, {}},
                        {{kernel("twice", {multiplied, y, counter})}, {}}};
  program.architectures = {architecture};
  return program;
}

// Small whole numbers, so that sums of products are exact in any order.
std::vector<float> whole_numbers(std::size_t count, int seed) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(static_cast<int>(i) * (2 * seed + 3) % 11 - 5));
  return values;
}

std::vector<float> expected_output(const std::vector<float>& x, const std::vector<float>& weights) {
  std::vector<float> y(x.size(), 0.0F);
  for (std::size_t row = 0; row < kRows; ++row)
    for (std::size_t column = 0; column < kColumns; ++column)
      for (std::size_t k = 0; k < kColumns; ++k)
        y[row * kColumns + column] +=
            2.0F * (x[row * kColumns + k] + 1.0F) * weights[k * kColumns + column];
  return y;
}

std::vector<std::byte> host_image() {
  HostImageOptions options;
  options.cuda_include_folder = STITCH_CUDA_INCLUDE_DIR;
  options.checked = false;  // its callbacks have the names of ThreadSanitizer's
  const SourceText unit = {"shared_model.cu", kSource};
  return build_host_image(std::span(&unit, 1), options);
}

// One thread's stream and buffers, from the driver as a user's program would get them.
class Caller {
 public:
  Caller(const runtime::Driver& driver, const runtime::ModelHandle* model)
      : driver_(driver),
        x_(driver, kMatrixBytes, "x"),
        y_(driver, kMatrixBytes, "y"),
        workspace_(driver, workspace_bytes(model), "the workspace") {
    expect(driver_.stream_create(&stream_, runtime::kStreamNonBlocking) == 0, "no stream");
    expect(runtime::create_context(model, &context_) == 0, "no context");
  }
  ~Caller() {
    runtime::destroy_context(context_);
    driver_.stream_destroy(stream_);
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  std::vector<float> run(const std::vector<float>& x) {
    driver_.copy_to_device(x_.address(), x.data(), kMatrixBytes);
    const void* inputs[] = {x_.pointer()};
    void* outputs[] = {y_.pointer()};
    expect(runtime::enqueue(context_, stream_, inputs, outputs, workspace_.pointer(),
                            workspace_.bytes()) == 0,
           "enqueue");
    expect(driver_.stream_synchronize(stream_) == 0, "the stream failed");
    return read<float>(y_, kRows * kColumns);
  }

  // How many blocks of the last inference were counted.
  float counted_blocks() const { return read<float>(workspace_, 1).front(); }

  // An error that the other threads must not see.
  std::string refusal() {
    expect(runtime::enqueue(context_, stream_, nullptr, nullptr, nullptr, 0) != 0, "no refusal");
    return runtime::last_error(nullptr);
  }

 private:
  static std::size_t workspace_bytes(const runtime::ModelHandle* model) {
    std::size_t bytes = 0;
    expect(runtime::workspace_size(model, nullptr, &bytes, nullptr) == 0, "workspace_size");
    return bytes;
  }
  static void expect(bool holds, const std::string& what) {
    if (!holds) throw std::runtime_error(what + ": " + runtime::last_error(nullptr));
  }
  template <typename Value>
  std::vector<Value> read(const runtime::DeviceBuffer& buffer, std::size_t count) const {
    std::vector<Value> values(count);
    driver_.copy_to_host(values.data(), buffer.address(), count * sizeof(Value));
    return values;
  }

  const runtime::Driver& driver_;
  runtime::DeviceBuffer x_;
  runtime::DeviceBuffer y_;
  runtime::DeviceBuffer workspace_;
  runtime::CUstream stream_ = nullptr;
  runtime::ContextHandle* context_ = nullptr;
};

// What one thread does; an empty string, or what went wrong. Assertions are not for threads.
std::string use_model(const runtime::Driver& driver, const runtime::ModelHandle* model,
                      runtime::CUcontext device, int thread,
                      const std::vector<float>& weights) try {
  constexpr int kRuns = 6;
  const runtime::CurrentContext current(driver, device);
  Caller caller(driver, model);
  for (int run = 0; run < kRuns; ++run) {
    const std::vector<float> x = whole_numbers(kRows * kColumns, thread * kRuns + run);
    if (caller.run(x) != expected_output(x, weights)) return "wrong values";
    if (caller.counted_blocks() != static_cast<float>(kRows)) return "counters were not zeroed";
    if (caller.refusal() != "inputs is null") return "another refusal: " + caller.refusal();
  }
  return "";
} catch (const std::exception& error) {
  return error.what();
}

}  // namespace

TEST_CASE("threads enqueue one model at once on the emulated device") {
  const fs::path folder = fs::path(STITCH_BINARY_DIR) / "shared_model_test";
  fs::create_directories(folder);
  const std::vector<float> weights = whole_numbers(kColumns * kColumns, 1);
  std::ofstream(folder / "weights.bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(weights.data()), kWeightsBytes);
  const std::vector<std::byte> image = host_image();
  const std::string program = runtime::encode_program(program_of(image.size()));
  const auto* begin = reinterpret_cast<const unsigned char*>(program.data());
  const runtime::LinkedBundle bundle = {begin, begin + program.size(),
                                        reinterpret_cast<const unsigned char*>(image.data())};
  const std::string bundle_dir = folder.string();
  runtime::AbiOptions options = {};
  options.struct_size = sizeof(options);
  options.bundle_dir = bundle_dir.c_str();
  options.driver_file = STITCH_EMULATED_DRIVER;
  runtime::ModelHandle* model = nullptr;
  const std::int32_t status = runtime::create_model(bundle, &options, &model);
  INFO(runtime::last_error(nullptr));
  REQUIRE(status == 0);
  const runtime::Driver driver = runtime::Driver::open(STITCH_EMULATED_DRIVER);
  runtime::CUcontext device = nullptr;
  REQUIRE(driver.primary_context_retain(&device, 0) == 0);

  constexpr int kThreads = 8;
  std::vector<std::string> failures(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      failures[static_cast<std::size_t>(thread)] =
          use_model(driver, model, device, thread, weights);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == std::vector<std::string>(kThreads));

  runtime::destroy_model(model);
  driver.primary_context_release(0);
}

}  // namespace stitch
