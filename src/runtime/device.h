// The GPU (or the emulated one) that a model is created on.
#ifndef STITCH_RUNTIME_DEVICE_H_
#define STITCH_RUNTIME_DEVICE_H_

#include <cstdint>
#include <string>

#include "runtime/driver.h"
#include "runtime/namespace.h"

namespace STITCH_RUNTIME_NAMESPACE {

struct Device {
  // Throws LauncherError with kNoDevice when there is no such device.
  static Device open(const Driver& driver, int ordinal);

  int ordinal = 0;
  CUdevice handle = 0;
  std::string name;
  std::uint32_t architecture = 0;  // 10 * major + minor of the compute capability
  int multiprocessors = 0;
  bool emulated = false;  // runs host images only
};

// "sm_80"
std::string architecture_name(std::uint32_t architecture);

}  // namespace STITCH_RUNTIME_NAMESPACE

#endif  // STITCH_RUNTIME_DEVICE_H_
