// How often programs called the driver, and what their kernels did.
#pragma once
#include <cstdint>
#include <string>

#include "emulator/check/traffic_counts.h"
#include "emulator/device/event_counts.h"

namespace stitch::emulator {

struct CallCounts {
  std::uint64_t kernel_launches = 0;
  std::uint64_t matmuls = 0;
  std::uint64_t memsets = 0;
  std::uint64_t copies_to_device = 0;
  std::uint64_t copies_to_host = 0;
  std::uint64_t copies_on_device = 0;
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
};

// Of one kernel, all launches together, or of one launch.
struct KernelCounts {
  std::string name;
  std::uint64_t launches = 0;
  std::uint64_t blocks = 0;
  std::uint64_t threads = 0;
  double host_seconds = 0;
  EventCounts events;
  TrafficCounts traffic;
};

inline KernelCounts& operator+=(KernelCounts& to, const KernelCounts& more) {
  to.launches += more.launches;
  to.blocks += more.blocks;
  to.threads += more.threads;
  to.host_seconds += more.host_seconds;
  to.events += more.events;
  to.traffic += more.traffic;
  return to;
}

}  // namespace stitch::emulator
