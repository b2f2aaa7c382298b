// A device on which kernels are timed: the driver, a context, loaded kernels and a stopwatch.
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "calibrate/statistics.h"
#include "runtime/device.h"
#include "runtime/driver.h"
#include "runtime/model.h"
#include "runtime/runner/device_buffer.h"
#include "runtime/runner/loaded_bundle.h"

namespace stitch {

struct LaunchShape {
  int blocks = 1;
  int threads = 256;
  int shared_bytes = 0;
  bool cooperative = false;
};

// Throws LauncherError from every function.
class MeasuringDevice {
 public:
  // Opens the device that the options choose, or the emulated one.
  explicit MeasuringDevice(const runtime::RunnerOptions& options);
  ~MeasuringDevice();
  MeasuringDevice(const MeasuringDevice&) = delete;
  MeasuringDevice& operator=(const MeasuringDevice&) = delete;

  const runtime::Device& info() const { return device_; }

  // A cubin, or a host image for the emulated device. May be called for each unit.
  void load(std::span<const std::byte> image);

  runtime::DeviceBuffer allocate(std::size_t bytes, const std::string& what) const;
  void copy_in(const runtime::DeviceBuffer& to, const void* from, std::size_t bytes) const;
  void clear(const runtime::DeviceBuffer& buffer) const;

  // Puts one launch into the stream, or into the graph that is being recorded.
  template <class... Arguments>
  void launch(const char* kernel, const LaunchShape& shape, Arguments... arguments) const {
    void* pointers[] = {static_cast<void*>(&arguments)..., nullptr};
    launch_packed(kernel, shape, pointers);
  }
  void synchronize() const;

  // A piece of work of `units` equal parts.
  struct Work {
    std::function<void(int units)> enqueue;
    std::function<void()> prepare = {};  // before each timing, outside of it
    int few = 1, many = 2;               // the two sizes whose difference is taken
    bool as_graph = false;               // record the launches, and time the graph
  };
  // Microseconds of one more unit: the difference of both sizes' medians over that of their units,
  // after a warm-up; not told from zero where it is below the clock's resolution.
  Measured time_unit(const Work& work, int repetitions) const;

 private:
  class Recording;
  void launch_packed(const char* kernel, const LaunchShape& shape, void** arguments) const;
  runtime::CUfunction function(const char* kernel) const;
  double time_once(const std::function<void()>& run) const;

  runtime::Driver driver_;
  runtime::Device device_;
  runtime::PrimaryContext primary_context_;
  runtime::CurrentContext current_;
  runtime::CUstream stream_ = nullptr;
  runtime::CUevent begin_ = nullptr, end_ = nullptr;
  std::vector<runtime::CUmodule> modules_;
};

}  // namespace stitch
