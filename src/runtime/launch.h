// One kernel launch: geometry and attributes in the driver's form, arguments packed.
#ifndef STITCH_RUNTIME_LAUNCH_H_
#define STITCH_RUNTIME_LAUNCH_H_

#include <vector>

#include "runtime/bundle_format.h"
#include "runtime/device_memory.h"
#include "runtime/driver.h"

namespace STITCH_RUNTIME_NAMESPACE {

// The launch attributes of a kernel; a config refers to them and must not outlive them.
class LaunchAttributes {
 public:
  explicit LaunchAttributes(const KernelLaunch& launch);
  LaunchConfig config(const KernelLaunch& launch, CUstream stream);

 private:
  LaunchAttribute attributes_[2] = {};
  unsigned count_ = 0;
};

// Room for the arguments of one launch, allocated once and used again by every launch of a context.
class ArgumentBuffer {
 public:
  explicit ArgumentBuffer(std::size_t capacity) : values_(capacity), pointers_(capacity) {}

  // What the driver wants: a pointer to each argument's value.
  void** pack(const KernelLaunch& launch, const DeviceMemory& memory);

 private:
  std::vector<std::uint64_t> values_;
  std::vector<void*> pointers_;
};

}  // namespace STITCH_RUNTIME_NAMESPACE

#endif  // STITCH_RUNTIME_LAUNCH_H_
