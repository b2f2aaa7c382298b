// Watches one launch: finds races, accesses out of bounds or misaligned and reads of undefined
// memory, and hands the accesses on to be counted.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "emulator/check/reachable_memory.h"
#include "emulator/check/release_history.h"
#include "emulator/check/traffic_counter.h"
#include "emulator/device/observer.h"
#include "emulator/device/report.h"
#include "emulator/memory/device_memory.h"

namespace stitch::emulator {

struct WatchOptions {
  bool check = true;   // races and undefined reads; bounds are checked in any case
  bool count = false;  // traffic
};

class CheckedLaunch : public LaunchObserver {
 public:
  CheckedLaunch(DeviceMemory& memory, ReportLog& log, const WatchOptions& options);

  void launch_begins(const Launch& launch) override;
  void launch_ends() override;
  void block_begins(const Block& block) override;
  bool access(const Block& block, const Thread& thread, const Access& access) override;
  void release(const Block& block, const Thread& thread, bool whole_block) override;
  void warp_meets(const Block& block, unsigned warp) override;
  void warp_exits(const Block& block, unsigned warp) override;

  // Of launches that are counted; zeros otherwise. After launch_ends.
  TrafficCounts traffic() const;

 private:
  // The shared memory of one block slot.
  struct Arena {
    const unsigned char* begin = nullptr;
    ShadowRegion shadow;
  };
  struct Context;  // an access and its surroundings

  Arena* arena_of(const Block& block, const unsigned char* address);
  bool access_shared(const Context& context, Arena& arena);
  bool access_global(const Context& context);
  void check_cells(const Context& context, ShadowRegion& region, std::size_t offset);
  void check_cell(const Context& context, ShadowCell& cell);
  bool ordered(const Context& context, const Stamp& then) const;
  bool ordered_after_readers(const Context& context, const Stamp& then) const;
  bool is_image_constant(const unsigned char* address);
  void report(const Context& context, ReportKind kind, const std::string& message,
              const Stamp* other = nullptr);

  DeviceMemory& memory_;
  ReportLog& log_;
  const bool checks_;
  const Launch* launch_ = nullptr;
  const unsigned char* image_begin_ = nullptr;     // of the code that sites lie in
  const unsigned char* constants_page_ = nullptr;  // of the image, read last
  ReachableMemory reachable_;
  std::vector<Arena> arenas_;  // by block slot
  ReleaseHistory history_;
  std::unique_ptr<TrafficCounter> counter_;  // null when not counting
};

}  // namespace stitch::emulator
