#include "planner/device/device_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "graph/error.h"

namespace stitch {
namespace {

constexpr int kWarp = 32;
constexpr int kRegisterUnit = 256;  // registers of a warp are allocated in units of this
constexpr int kRegisterFiles = 4;   // per SM; a warp lives in one of them
constexpr int kMostRegisters = 255;

constexpr std::array kDevices = {
#define STITCH_DEVICE(...) DeviceModel{__VA_ARGS__},
#include "planner/device/devices.def"
};

int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// "v100 (sm_70), t4 (sm_75), ..."
std::string known_devices() {
  std::string text;
  for (const DeviceModel& device : kDevices) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", device.name, device.architecture);
  }
  return text;
}

}  // namespace

std::span<const DeviceModel> device_models() { return kDevices; }

const DeviceModel& find_device(std::string_view name, std::string_view architecture) {
  if (name.empty() && architecture.empty()) architecture = "sm_80";
  for (const DeviceModel& device : kDevices) {
    if (name.empty()) {
      if (device.default_of_architecture && device.architecture == architecture) return device;
    } else if (device.name == name) {
      if (architecture.empty() || device.architecture == architecture) return device;
      throw ModelError(fmt::format("the target {} has architecture {}, not {}", name,
                                   device.architecture, architecture));
    }
  }
  throw ModelError(fmt::format("there is no device model for {} \"{}\"\nnote: known are {}",
                               name.empty() ? "the architecture" : "the target",
                               name.empty() ? architecture : name, known_devices()));
}

int resident_blocks(const DeviceModel& device, const BlockNeeds& needs) {
  if (needs.threads <= 0 || needs.threads > 1024 || needs.registers > kMostRegisters) return 0;
  const int64_t warps = round_up(needs.threads, kWarp) / kWarp;
  int64_t blocks = std::min<int64_t>(device.blocks_per_sm, device.threads_per_sm / kWarp / warps);

  const int64_t per_warp = round_up(int64_t{needs.registers} * kWarp, kRegisterUnit);
  if (per_warp > 0) {
    // A launch is checked as if every file held a whole share of the block's warps.
    const int64_t assumed = per_warp * round_up(warps, kRegisterFiles);
    if (assumed > device.registers_per_sm) return 0;
    const int64_t warps_per_file = device.registers_per_sm / kRegisterFiles / per_warp;
    blocks = std::min(blocks, warps_per_file * kRegisterFiles / warps);
  }

  if (needs.shared_bytes > device.shared_bytes_per_block) return 0;
  const int64_t shared =
      round_up(needs.shared_bytes + device.shared_bytes_reserved, device.shared_granularity);
  if (shared > 0) blocks = std::min(blocks, device.shared_bytes_per_sm / shared);
  return static_cast<int>(blocks);
}

int registers_for(const DeviceModel& device, int threads, int blocks) {
  int registers = kMostRegisters;
  while (registers > 1 &&
         resident_blocks(device, {.threads = threads, .registers = registers}) < blocks) {
    --registers;
  }
  return registers;
}

}  // namespace stitch
