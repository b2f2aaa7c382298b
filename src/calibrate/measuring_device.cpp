#include "calibrate/measuring_device.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "runtime/launcher_error.h"
#include "runtime/runner/emulator_checks.h"

namespace stitch {
namespace {

using runtime::CUfunction;
using runtime::CUgraph;
using runtime::CUgraphExec;

constexpr int kWarmUps = 3;
constexpr double kResolutionUs = 0.5;  // of cuEventElapsedTime, CUDA driver API

runtime::Driver open_driver(const runtime::RunnerOptions& options) {
  std::string file = options.driver_file;
  if (file.empty()) {
    const char* const from_environment = std::getenv("STITCH_CUDA_DRIVER");
    if (from_environment != nullptr) file = from_environment;
  }
  const runtime::EmulatorControl emulator(file);
  if (emulator.available()) {
    if (!options.emulator.architecture.empty()) {
      emulator.select_device(options.emulator.architecture);
    }
    emulator.configure(options.emulator);
  }
  runtime::Driver driver = runtime::Driver::open(file);
  driver.require(driver.stream_create, "cuStreamCreate");
  driver.require(driver.stream_destroy, "cuStreamDestroy_v2");
  driver.require(driver.stream_synchronize, "cuStreamSynchronize");
  driver.require(driver.stream_begin_capture, "cuStreamBeginCapture_v2");
  driver.require(driver.stream_end_capture, "cuStreamEndCapture");
  driver.require(driver.graph_instantiate, "cuGraphInstantiateWithFlags");
  driver.require(driver.graph_launch, "cuGraphLaunch");
  driver.require(driver.graph_exec_destroy, "cuGraphExecDestroy");
  driver.require(driver.graph_destroy, "cuGraphDestroy");
  driver.require(driver.event_create, "cuEventCreate");
  driver.require(driver.event_destroy, "cuEventDestroy_v2");
  driver.require(driver.event_record, "cuEventRecord");
  driver.require(driver.event_synchronize, "cuEventSynchronize");
  driver.require(driver.event_elapsed_time, "cuEventElapsedTime");
  return driver;
}

}  // namespace

// Launches that were captured as a CUDA graph.
class MeasuringDevice::Recording {
 public:
  Recording(const MeasuringDevice& device, const std::function<void()>& enqueue)
      : driver_(device.driver_), stream_(device.stream_) {
    driver_.check(driver_.stream_begin_capture(stream_, runtime::kCaptureThreadLocal),
                  "cuStreamBeginCapture", "recording launches");
    enqueue();
    CUgraph graph = nullptr;
    driver_.check(driver_.stream_end_capture(stream_, &graph), "cuStreamEndCapture",
                  "recording launches");
    const runtime::CUresult result = driver_.graph_instantiate(&executable_, graph, 0);
    driver_.graph_destroy(graph);
    driver_.check(result, "cuGraphInstantiateWithFlags", "recording launches");
  }
  ~Recording() { driver_.graph_exec_destroy(executable_); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  void replay() const {
    driver_.check(driver_.graph_launch(executable_, stream_), "cuGraphLaunch", "timing launches");
  }

 private:
  const runtime::Driver& driver_;
  runtime::CUstream stream_;
  CUgraphExec executable_ = nullptr;
};

MeasuringDevice::MeasuringDevice(const runtime::RunnerOptions& options)
    : driver_(open_driver(options)),
      device_(runtime::Device::open(driver_, options.device)),
      primary_context_(driver_, device_),
      current_(driver_, primary_context_.get()) {
  driver_.check(driver_.stream_create(&stream_, runtime::kStreamNonBlocking), "cuStreamCreate",
                "preparing to measure");
  driver_.check(driver_.event_create(&begin_, 0), "cuEventCreate", "preparing to measure");
  driver_.check(driver_.event_create(&end_, 0), "cuEventCreate", "preparing to measure");
}

MeasuringDevice::~MeasuringDevice() {
  for (const runtime::CUmodule module : modules_) driver_.module_unload(module);
  if (end_ != nullptr) driver_.event_destroy(end_);
  if (begin_ != nullptr) driver_.event_destroy(begin_);
  if (stream_ != nullptr) driver_.stream_destroy(stream_);
}

void MeasuringDevice::load(std::span<const std::byte> image) {
  runtime::CUmodule module = nullptr;
  driver_.check(driver_.module_load_data(&module, image.data()), "cuModuleLoadData",
                "loading the measuring kernels");
  modules_.push_back(module);
}

runtime::DeviceBuffer MeasuringDevice::allocate(std::size_t bytes, const std::string& what) const {
  return runtime::DeviceBuffer(driver_, bytes, what);
}

void MeasuringDevice::copy_in(const runtime::DeviceBuffer& to, const void* from,
                              std::size_t bytes) const {
  driver_.check(driver_.copy_to_device(to.address(), from, bytes), "cuMemcpyHtoD",
                "preparing to measure");
}

void MeasuringDevice::clear(const runtime::DeviceBuffer& buffer) const {
  driver_.check(driver_.memset_async(buffer.address(), 0, buffer.bytes(), stream_),
                "cuMemsetD8Async", "preparing to measure");
}

CUfunction MeasuringDevice::function(const char* kernel) const {
  CUfunction function = nullptr;
  for (const runtime::CUmodule module : modules_) {
    if (driver_.module_get_function(&function, module, kernel) == runtime::kCudaSuccess) {
      return function;
    }
  }
  throw runtime::LauncherError(runtime::Status::kInternal,
                               "no loaded image has the kernel " + std::string(kernel));
}

void MeasuringDevice::launch_packed(const char* kernel, const LaunchShape& shape,
                                    void** arguments) const {
  runtime::LaunchAttribute cooperative = {};
  cooperative.id = runtime::kCooperative;
  cooperative.value.cooperative = 1;
  runtime::LaunchConfig config = {};
  config.grid_x = static_cast<unsigned>(shape.blocks);
  config.grid_y = config.grid_z = config.block_y = config.block_z = 1;
  config.block_x = static_cast<unsigned>(shape.threads);
  config.shared_bytes = static_cast<unsigned>(shape.shared_bytes);
  config.stream = stream_;
  if (shape.cooperative) {
    config.attributes = &cooperative;
    config.attribute_count = 1;
  }
  driver_.check(driver_.launch(&config, function(kernel), arguments, nullptr), "cuLaunchKernelEx",
                std::string("launching ") + kernel);
}

void MeasuringDevice::synchronize() const {
  driver_.check(driver_.stream_synchronize(stream_), "cuStreamSynchronize", "measuring");
}

double MeasuringDevice::time_once(const std::function<void()>& run) const {
  driver_.check(driver_.event_record(begin_, stream_), "cuEventRecord", "measuring");
  run();
  driver_.check(driver_.event_record(end_, stream_), "cuEventRecord", "measuring");
  driver_.check(driver_.event_synchronize(end_), "cuEventSynchronize", "measuring");
  float milliseconds = 0;
  driver_.check(driver_.event_elapsed_time(&milliseconds, begin_, end_), "cuEventElapsedTime",
                "measuring");
  return 1000.0 * static_cast<double>(milliseconds);
}

Measured MeasuringDevice::time_unit(const Work& work, int repetitions) const {
  const auto run_few = [&] { work.enqueue(work.few); };
  const auto run_many = [&] { work.enqueue(work.many); };
  std::function<void()> few = run_few, many = run_many;
  std::vector<std::unique_ptr<Recording>> graphs;
  if (work.as_graph) {
    graphs.push_back(std::make_unique<Recording>(*this, run_few));
    graphs.push_back(std::make_unique<Recording>(*this, run_many));
    few = [&] { graphs[0]->replay(); };
    many = [&] { graphs[1]->replay(); };
  }
  const auto timed = [&](const std::function<void()>& run) {
    if (work.prepare) work.prepare();
    return time_once(run);
  };
  for (int i = 0; i < kWarmUps; ++i) {
    timed(few);
    timed(many);
  }
  std::vector<double> few_us, many_us;
  for (int i = 0; i < repetitions; ++i) {
    few_us.push_back(timed(few));
    many_us.push_back(timed(many));
  }
  const Measured less = summary_of(std::move(few_us)), more = summary_of(std::move(many_us));
  const double difference = more.value - less.value;
  if (difference < kResolutionUs) return {0, 0, false};
  return {difference / (work.many - work.few),
          (less.spread * less.value + more.spread * more.value) / difference};
}

}  // namespace stitch
