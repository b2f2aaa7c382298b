// What each release of each block made visible: which accesses happened before it.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "emulator/memory/shadow_region.h"

namespace stitch::emulator {

// One release: an addition to a counter by one thread, or a barrier of whole blocks.
struct Release {
  static constexpr std::uint32_t kNoThread = ~std::uint32_t{0};  // released by a barrier
  std::uint32_t thread = kNoThread;
  std::uint32_t barriers = 0;  // block barriers passed; accesses before the last are covered
  std::uint32_t meetings = 0;  // of the thread's warp since that barrier
};

class ReleaseHistory {
 public:
  void clear() { releases_.clear(); }
  void add(std::uint32_t block, const Release& release) { releases_[block].push_back(release); }

  // Whether an access of a block happened before one of the block's first `count` releases.
  bool covers(std::uint32_t block, std::uint32_t count, const Stamp& access) const;
  // The same for every reader of a cell, of whom only the latest is known.
  bool covers_all_readers(std::uint32_t block, std::uint32_t count, const Stamp& latest) const;

 private:
  std::unordered_map<std::uint32_t, std::vector<Release>> releases_;
};

}  // namespace stitch::emulator
