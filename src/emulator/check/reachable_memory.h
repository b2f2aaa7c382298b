// The memory that a launch may touch: what its arguments point to.
//
// A pointer argument reaches the named range that begins there, or else every range that holds it,
// or the whole allocation when it has no ranges. Pointers inside structs count as well.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "emulator/device/launch.h"
#include "emulator/memory/device_memory.h"

namespace stitch::emulator {

struct ReachableRange {
  const unsigned char* begin = nullptr;
  const unsigned char* end = nullptr;
  Allocation* allocation = nullptr;
};

class ReachableMemory {
 public:
  ReachableMemory() = default;
  ReachableMemory(DeviceMemory& memory, const Launch& launch);

  // The range that holds all of an access; null when there is none.
  const ReachableRange* find(const unsigned char* address, std::size_t bytes) {
    if (last_ < ranges_.size() && holds(ranges_[last_], address, bytes)) return &ranges_[last_];
    return search(address, bytes);
  }

  // Where an address outside is, in words.
  std::string describe(const DeviceMemory& memory, const unsigned char* address) const;

  const std::vector<ReachableRange>& ranges() const { return ranges_; }
  // Those registered as scratch, for the counters.
  const std::vector<ReachableRange>& scratch() const { return scratch_; }

 private:
  static bool holds(const ReachableRange& range, const unsigned char* address, std::size_t bytes) {
    return address >= range.begin && address + bytes <= range.end;
  }
  const ReachableRange* search(const unsigned char* address, std::size_t bytes);
  void add_target(DeviceMemory& memory, const unsigned char* pointer);
  void merge();

  std::vector<ReachableRange> ranges_;  // ascending and apart
  std::vector<ReachableRange> scratch_;
  std::size_t last_ = 0;
};

}  // namespace stitch::emulator
