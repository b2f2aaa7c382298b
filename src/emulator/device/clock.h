// Vector clocks: how many releases of each block someone has acquired.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace stitch::emulator {

// Entry b counts the releases of block b. Blocks beyond the end count as 0.
using Clock = std::vector<std::uint32_t>;
using ClockRef = std::shared_ptr<const Clock>;  // null = nothing acquired

inline std::uint32_t releases_seen(const ClockRef& clock, std::uint32_t block) {
  return clock && block < clock->size() ? (*clock)[block] : 0;
}

// The later of both in every entry.
ClockRef merged(const ClockRef& a, const ClockRef& b);

// `clock` with the entry of one block set.
ClockRef with_release(const ClockRef& clock, std::uint32_t block, std::uint32_t releases);

}  // namespace stitch::emulator
