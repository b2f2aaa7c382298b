#include "runtime/device.h"

#include "runtime/launcher_error.h"

namespace STITCH_RUNTIME_NAMESPACE {
namespace {

// The name by which the emulated driver's devices are known.
constexpr char kEmulatorName[] = "stitchc emulator";

int attribute(const Driver& driver, CUdevice device, DeviceAttribute which) {
  int value = 0;
  driver.check(driver.device_get_attribute(&value, which, device), "cuDeviceGetAttribute",
               "asking for the properties of the device");
  return value;
}

}  // namespace

Device Device::open(const Driver& driver, int ordinal) {
  int count = 0;
  driver.check(driver.device_get_count(&count), "cuDeviceGetCount", "counting devices");
  if (ordinal < 0 || ordinal >= count) {
    throw LauncherError(Status::kNoDevice, "no device " + std::to_string(ordinal) +
                                               ": the driver '" + driver.file + "' has " +
                                               std::to_string(count));
  }
  Device device;
  device.ordinal = ordinal;
  driver.check(driver.device_get(&device.handle, ordinal), "cuDeviceGet",
               "opening device " + std::to_string(ordinal));
  char name[256] = {};
  driver.check(driver.device_get_name(name, sizeof(name) - 1, device.handle), "cuDeviceGetName",
               "opening device " + std::to_string(ordinal));
  device.name = name;
  const int major = attribute(driver, device.handle, kComputeCapabilityMajor);
  const int minor = attribute(driver, device.handle, kComputeCapabilityMinor);
  device.architecture = static_cast<std::uint32_t>(10 * major + minor);
  device.multiprocessors = attribute(driver, device.handle, kMultiprocessorCount);
  device.emulated = device.name.rfind(kEmulatorName, 0) == 0;
  return device;
}

std::string architecture_name(std::uint32_t architecture) {
  return "sm_" + std::to_string(architecture);
}

}  // namespace STITCH_RUNTIME_NAMESPACE
