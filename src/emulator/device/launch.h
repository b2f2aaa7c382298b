// One kernel launch on the emulated device: what to run, in which order, and how it ended.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/image_text/image_abi.h"

namespace stitch::emulator {

using stitch_simt::Extent;
using stitch_simt::ImageEntry;
using stitch_simt::KernelRecord;

struct Launch {
  const KernelRecord* kernel = nullptr;
  Extent grid{1, 1, 1};
  Extent block{1, 1, 1};
  unsigned shared_bytes = 0;
  unsigned cluster = 1;               // blocks per cluster, along x
  bool cooperative = false;           // all blocks are resident from the start
  std::uint64_t resident_blocks = 1;  // how many the device holds at once; whole clusters
  void** arguments = nullptr;         // one pointer to each argument's value
};

// In which order runnable lanes, warps and blocks take turns. Any order is allowed by CUDA.
enum class Order : std::uint8_t { kAscending, kDescending, kRandom };

struct Schedule {
  Order order = Order::kAscending;
  std::uint64_t seed = 0;     // of kRandom
  unsigned host_threads = 1;  // blocks that run at the same time; 1 in checked launches
};

}  // namespace stitch::emulator
