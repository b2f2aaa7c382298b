// What a launch moved through memory, by warps and their requests.
#pragma once
#include <cstdint>

namespace stitch::emulator {

// A request is one warp executing one access instruction. Sectors are 32 bytes.
struct TrafficCounts {
  std::uint64_t load_requests = 0;
  std::uint64_t load_sectors = 0;
  std::uint64_t load_bytes = 0;  // bytes of those sectors that some lane uses
  std::uint64_t store_requests = 0;
  std::uint64_t store_sectors = 0;
  std::uint64_t store_bytes = 0;
  std::uint64_t vector_requests = 0;  // global requests of 16 bytes per lane
  std::uint64_t shared_requests = 0;
  std::uint64_t shared_wavefronts = 0;
  std::uint64_t shared_ideal_wavefronts = 0;
  std::uint64_t remote_requests = 0;
  std::uint64_t distinct_load_bytes = 0;
  std::uint64_t distinct_store_bytes = 0;
  std::uint64_t read_back_bytes = 0;  // distinct bytes read after the launch itself wrote them
  std::uint64_t scratch_bytes = 0;
};

inline TrafficCounts& operator+=(TrafficCounts& to, const TrafficCounts& more) {
  to.load_requests += more.load_requests;
  to.load_sectors += more.load_sectors;
  to.load_bytes += more.load_bytes;
  to.store_requests += more.store_requests;
  to.store_sectors += more.store_sectors;
  to.store_bytes += more.store_bytes;
  to.vector_requests += more.vector_requests;
  to.shared_requests += more.shared_requests;
  to.shared_wavefronts += more.shared_wavefronts;
  to.shared_ideal_wavefronts += more.shared_ideal_wavefronts;
  to.remote_requests += more.remote_requests;
  to.distinct_load_bytes += more.distinct_load_bytes;
  to.distinct_store_bytes += more.distinct_store_bytes;
  to.read_back_bytes += more.read_back_bytes;
  to.scratch_bytes += more.scratch_bytes;
  return to;
}

}  // namespace stitch::emulator
