// Device addresses of everything that the steps of one inference touch.
#ifndef STITCH_RUNTIME_DEVICE_MEMORY_H_
#define STITCH_RUNTIME_DEVICE_MEMORY_H_

#include "runtime/bundle_format.h"
#include "runtime/driver.h"
#include "runtime/namespace.h"

namespace STITCH_RUNTIME_NAMESPACE {

// Kernels access memory in pieces of up to 16 bytes: the caller's inputs and outputs have at least
// this alignment, the starts of workspace and weights that of the driver's own allocations.
inline constexpr std::uint64_t kCallerAlignment = 16;
inline constexpr std::uint64_t kArenaAlignment = 256;

struct DeviceMemory {
  CUdeviceptr address(const BufferRef& ref) const;

  const void* const* inputs = nullptr;  // one device pointer each, as the caller gave them
  void* const* outputs = nullptr;
  CUdeviceptr workspace = 0;
  CUdeviceptr weights = 0;
  const std::vector<ByteRange>* weights_segments = nullptr;
};

inline CUdeviceptr device_address(const void* pointer) {
  return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(pointer));
}

inline CUdeviceptr DeviceMemory::address(const BufferRef& ref) const {
  switch (ref.kind) {
    case BufferKind::kInput:
      return device_address(inputs[ref.index]) + ref.offset;
    case BufferKind::kOutput:
      return device_address(outputs[ref.index]) + ref.offset;
    case BufferKind::kWorkspace:
      return workspace + ref.offset;
    case BufferKind::kWeights:
      return weights + (*weights_segments)[ref.index].offset + ref.offset;
  }
  return 0;
}

}  // namespace STITCH_RUNTIME_NAMESPACE

#endif  // STITCH_RUNTIME_DEVICE_MEMORY_H_
