// A GPU model that the emulated driver presents itself as.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace stitch::emulator {

struct DeviceModel {
  std::string_view name;          // as cuDeviceGetName gives it
  std::string_view architecture;  // "sm_90"
  int major = 0;
  int minor = 0;
  int multiprocessors = 0;
  int shared_per_multiprocessor = 0;  // bytes
  int shared_opt_in_per_block = 0;    // bytes
  int threads_per_multiprocessor = 0;
  int blocks_per_multiprocessor = 0;
  int l2_bytes = 0;
  int clock_khz = 0;
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
  std::uint64_t memory_bytes = 0;
};

inline constexpr int kRegistersPerMultiprocessor = 65536;  // all models below
inline constexpr int kSharedPerBlock = 48 << 10;           // without opting in
inline constexpr int kMaxThreadsPerBlock = 1024;
inline constexpr int kMaxClusterBlocks = 8;  // portable size; sm_90 and later

std::span<const DeviceModel> device_models();

// Null when there is none for the architecture, such as "sm_90".
const DeviceModel* find_device_model(std::string_view architecture);

}  // namespace stitch::emulator
