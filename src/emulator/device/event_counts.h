// Events of a launch that cost nothing to count.
#pragma once
#include <cstdint>

namespace stitch::emulator {

// Barriers are per block, meetings per warp.
struct EventCounts {
  std::uint64_t block_barriers = 0;
  std::uint64_t cluster_barriers = 0;
  std::uint64_t releases = 0;
  std::uint64_t shuffles = 0;
  std::uint64_t votes = 0;
  std::uint64_t products = 0;
  std::uint64_t matrix_loads = 0;
  std::uint64_t atomics = 0;
  std::uint64_t async_copies = 0;
};

inline EventCounts& operator+=(EventCounts& to, const EventCounts& more) {
  to.block_barriers += more.block_barriers;
  to.cluster_barriers += more.cluster_barriers;
  to.releases += more.releases;
  to.shuffles += more.shuffles;
  to.votes += more.votes;
  to.products += more.products;
  to.matrix_loads += more.matrix_loads;
  to.atomics += more.atomics;
  to.async_copies += more.async_copies;
  return to;
}

}  // namespace stitch::emulator
