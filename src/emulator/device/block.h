// The state of a running block: its threads, their warps, and what they wait for.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "emulator/device/clock.h"
#include "emulator/device/fiber.h"
#include "emulator/image_text/image_abi.h"

namespace stitch::emulator {

struct Thread {
  Fiber fiber;
  stitch_simt::ThreadView view{};
  const unsigned char* stack = nullptr;
  unsigned linear = 0;  // index in the block
  unsigned warp = 0;
  unsigned cluster_generation = 0;  // when it arrived at the cluster barrier
  ClockRef acquired;                // releases seen by this thread alone, since the last barrier
};

// Bit l of a mask is lane l.
struct Warp {
  std::uint32_t alive = 0;
  std::uint32_t ready = 0;
  std::uint32_t at_barrier = 0;
  std::uint32_t met = 0;   // lanes that wait in the current meeting
  std::uint32_t mask = 0;  // lanes that the meeting needs
  stitch_simt::Meeting kind = stitch_simt::Meeting::kShuffle;
  const void* site = nullptr;
  std::uint32_t epoch = 0;  // meetings since the last block barrier
  unsigned side = 0;        // two sets of slots: a fast lane may give for the next meeting already
  bool acquired = false;    // some lane has a clock of its own
  alignas(16) unsigned char slots[2][stitch_simt::kWarpLanes * stitch_simt::kSlotBytes];
};

struct Block {
  std::uint32_t id = 0;  // linear index in the grid
  unsigned slot = 0;     // which arena and stacks it uses
  std::uint32_t alive = 0;
  std::uint32_t arrived = 0;   // threads that wait at the block barrier
  const void* site = nullptr;  // of that barrier
  std::uint32_t epoch = 0;     // block barriers passed
  std::uint32_t releases = 0;  // of this block so far
  bool acquired = false;       // some thread has a clock of its own
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<std::uint32_t> spinning;  // threads that wait for another block
  ClockRef seen;                        // releases that every thread of the block has acquired
  unsigned char* arena = nullptr;
};

struct Cluster {
  unsigned arrived = 0;
  unsigned generation = 0;
};

}  // namespace stitch::emulator
