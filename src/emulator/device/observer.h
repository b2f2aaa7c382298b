// What a checked launch tells about itself while it runs: every access and every meeting.
#pragma once
#include "emulator/device/block.h"
#include "emulator/device/launch.h"

namespace stitch::emulator {

struct Access {
  const unsigned char* address = nullptr;
  std::uint32_t bytes = 0;
  bool write = false;
  bool atomic = false;
  bool counted = true;  // false for the landing of an asynchronous copy, counted when it began
  const void* site = nullptr;
};

// Calls come from one host thread.
class LaunchObserver {
 public:
  virtual ~LaunchObserver() = default;

  virtual void launch_begins(const Launch& launch) = 0;
  virtual void launch_ends() = 0;
  // The block's shared memory is undefined from here on.
  virtual void block_begins(const Block& block) = 0;
  // False when the access must not happen (it is out of bounds): the launch stops.
  virtual bool access(const Block& block, const Thread& thread, const Access& access) = 0;
  // A thread makes all that is ordered before it visible: the block's release number
  // block.releases, which was just raised. `whole_block` when every thread is at a barrier.
  virtual void release(const Block& block, const Thread& thread, bool whole_block) = 0;
  // All lanes have met, or the last one has exited: their accesses so far form requests.
  virtual void warp_meets(const Block& block, unsigned warp) = 0;
  virtual void warp_exits(const Block& block, unsigned warp) = 0;
};

}  // namespace stitch::emulator
