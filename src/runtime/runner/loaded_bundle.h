// A bundle opened for running by tools: its library, on a device, with buffers of exact sizes.
//
// The library is driven through its C API alone, as a user's program would.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/bundle_format.h"
#include "runtime/runner/emulator_checks.h"

namespace stitch::runtime {

struct RunnerOptions {
  int device = 0;
  std::string driver_file;  // empty: STITCH_CUDA_DRIVER, else libcuda.so.1
  bool without_barriers = false;
  bool verify_weights = true;
  EmulatorSettings emulator = {};  // used when the driver is the emulated one
};

// What was loaded, and onto what.
struct LoadedInfo {
  std::string name;
  std::uint32_t architecture = 0;  // whose program runs
  ImageKind image_kind = ImageKind::kCubin;
  bool emulated = false;
  std::string device_name;
  std::size_t step_count = 0;
  std::size_t twin_count = 0;
};

struct StepTime {
  std::string kernel;
  std::vector<std::string> nodes;
  double microseconds = 0;
};

// Functions that an item of the launch program launches, in order: those of `steps`, or of `twin`
// where the barriers of `steps` do not fit. A function serves all kernels of equal text.
struct ProgramKernels {
  std::vector<std::string> steps;
  std::vector<std::string> twin;
};

// Use from one thread at a time.
class LoadedBundle {
 public:
  // Throws LauncherError: a missing file, driver, device or image, with the launcher's own text.
  LoadedBundle(const std::filesystem::path& folder, const RunnerOptions& options);
  ~LoadedBundle();
  LoadedBundle(const LoadedBundle&) = delete;
  LoadedBundle& operator=(const LoadedBundle&) = delete;

  const LoadedInfo& info() const;
  const std::vector<TensorInfo>& inputs() const;
  const std::vector<TensorInfo>& outputs() const;

  // One inference: copies the inputs in, runs, waits, copies the outputs out. Bytes are dense and
  // row major. Throws LauncherError with kInvalidArgument when a size is wrong.
  std::vector<std::vector<std::byte>> run(const std::vector<std::span<const std::byte>>& inputs);

  // The same through a captured CUDA graph, replayed `replays` times; the last outputs.
  std::vector<std::vector<std::byte>> run_captured(
      const std::vector<std::span<const std::byte>>& inputs, int replays);

  // Device time of every step, on the inputs of the last run.
  std::vector<StepTime> time_steps();

  // The kernels of an inference, in launch order.
  std::vector<ProgramKernels> program_kernels() const;

  // What the emulator counted of each launch of the last run; empty when it was not asked to count.
  std::vector<LaunchCounts> launch_counts() const;

  // What the emulator's checks have found since the bundle was opened.
  std::vector<EmulatorReport> reports() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// What the emulator reports when every bundle of the process is closed: device memory that nothing
// freed. Empty on other drivers.
std::vector<EmulatorReport> leaked_memory(const RunnerOptions& options);

}  // namespace stitch::runtime
