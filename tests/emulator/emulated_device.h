// The emulated device as tests use it: kernels from text, buffers, launches and reports.
#pragma once
#include <cuda.h>

#include <cstdint>
#include <string>
#include <vector>

#include "emulator/emulator_control.h"
#include "emulator/source_text.h"

namespace stitch::test {

// Fails the test when a driver call does not succeed.
void require_success(CUresult result, const char* call);
#define REQUIRE_DRIVER(call) ::stitch::test::require_success(call, #call)

// The device functions that emitted kernels include, from the source tree.
std::vector<SourceText> device_headers();

// A host image with both variants; `units` are .cu texts. Headers are precompiled once per build
// folder.
std::vector<std::byte> build_image(const std::vector<SourceText>& units);
// Only the variant that runs with checks: half of the compiler's time.
std::vector<std::byte> build_checked_image(const std::vector<SourceText>& units);

// Device memory of an exact size; freed with the object.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  template <class T>
  static DeviceBuffer holding(const std::vector<T>& values) {
    return DeviceBuffer(values.data(), values.size() * sizeof(T));
  }
  template <class T>
  std::vector<T> read() const {
    std::vector<T> values(bytes_ / sizeof(T));
    copy_out(values.data());
    return values;
  }
  CUdeviceptr pointer() const { return pointer_; }
  std::size_t bytes() const { return bytes_; }

 private:
  DeviceBuffer(const void* values, std::size_t bytes);
  void copy_out(void* to) const;
  CUdeviceptr pointer_ = 0;
  std::size_t bytes_ = 0;
};

struct Shape {
  unsigned grid = 1;
  unsigned block = 32;
  unsigned shared_bytes = 0;
  unsigned cluster = 1;
  bool cooperative = false;
  unsigned grid_y = 1;
  unsigned grid_z = 1;
};

// A loaded image.
class LoadedKernels {
 public:
  explicit LoadedKernels(const std::vector<SourceText>& units);
  explicit LoadedKernels(const std::vector<std::byte>& image);
  ~LoadedKernels();
  LoadedKernels(const LoadedKernels&) = delete;
  LoadedKernels& operator=(const LoadedKernels&) = delete;

  CUfunction function(const char* name) const;
  CUresult launch(const char* name, const Shape& shape, std::vector<void*> arguments) const;

  // Launches with values of any types as arguments.
  template <class... Arguments>
  CUresult run(const char* name, const Shape& shape, Arguments... arguments) const {
    return launch(name, shape, {static_cast<void*>(&arguments)...});
  }

 private:
  CUmodule module_ = nullptr;
};

struct ReportView {
  std::string kind, kernel, text, line, other_line;
  std::int64_t block = -1, thread = -1, other_block = -1, other_thread = -1;
};
std::vector<ReportView> reports();

struct Mode {
  bool check = false;
  bool count = false;
  stitch_emulator_order order = STITCH_EMULATOR_ASCENDING;
  std::uint64_t seed = 0;
  std::uint32_t host_threads = 0;
};
// Sets the mode and forgets what earlier launches left.
void start(const Mode& mode);

stitch_emulator_kernel_counters counters_of(const std::string& kernel);

}  // namespace stitch::test
