// NVRTC, opened at run time: CUDA C++ text in, cubin and compiler log out.
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace stitch {

// A file that `#include "name"` finds without touching the disk.
struct VirtualHeader {
  std::string name;
  std::string text;
};

struct NvrtcInput {
  std::string name;  // file name in messages
  std::string text;
  std::string architecture;  // "sm_80"
  std::vector<VirtualHeader> headers;
  bool wants_ptx = false;
};

struct NvrtcOutput {
  std::vector<std::byte> cubin;
  std::string log;
  std::string ptx = {};  // what the cubin was assembled from, when asked for
};

// Where NVRTC and the CUDA headers are looked for, in this order; the system loader comes last.
struct NvrtcLocation {
  std::vector<std::filesystem::path> library_dirs;
  std::vector<std::filesystem::path> include_dirs;  // must hold cuda_fp16.h
};

// The folders that the build found, after `cuda_home` when that is not empty.
NvrtcLocation default_nvrtc_location(const std::filesystem::path& cuda_home = {});

// Concurrent compiles are safe, and identical to the byte whatever their number.
class Nvrtc {
 public:
  // DeviceError that lists every place looked at when there is no libnvrtc.
  static Nvrtc open(const NvrtcLocation& location);
  ~Nvrtc();
  Nvrtc(Nvrtc&&) noexcept;

  std::string version() const;  // "13.0"
  // Of sm_XX, those that this NVRTC can compile for.
  std::vector<std::string> architectures() const;
  // DeviceError with the log and the numbered source when it does not compile.
  NvrtcOutput compile(const NvrtcInput& input) const;

 private:
  struct Library;
  explicit Nvrtc(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

}  // namespace stitch
