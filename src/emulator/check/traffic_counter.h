// Groups the accesses of a warp into requests and counts what they move.
//
// The n-th execution of one instruction by each lane since the warp last met is one request. Where
// some lanes skip an instruction in some iterations of a loop, the instruction that all of them
// executed most often tells the iterations apart.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "emulator/check/reachable_memory.h"
#include "emulator/check/traffic_counts.h"
#include "emulator/device/observer.h"

namespace stitch::emulator {

class TrafficCounter {
 public:
  void begin(const Launch& launch, const std::vector<ReachableRange>& scratch);
  void count_global(std::uint32_t block, const Thread& thread, const Access& access);
  void count_shared(std::uint32_t block, const Thread& thread, const Access& access, bool remote);
  // The warp has met, or has exited: its requests are complete.
  void flush(std::uint32_t block, unsigned warp);
  void finish(std::uint32_t block, unsigned warp);
  void end();
  const TrafficCounts& counts() const { return counts_; }

 private:
  enum class Space : std::uint8_t { kGlobal, kShared, kRemote };
  static constexpr std::size_t kLanes = stitch_simt::kWarpLanes;
  static constexpr std::size_t kPageBytes = 4096;

  struct Request {
    std::uint8_t lanes = 0;
    std::uint8_t bytes = 0;
    bool write = false;
    Space space = Space::kGlobal;
    std::array<std::uint64_t, kLanes> address;
    std::array<std::uint8_t, kLanes> lane;
    std::array<std::uint32_t, kLanes> order;  // among the lane's accesses
  };
  struct Site {
    std::vector<Request> requests;
    std::array<std::uint32_t, kLanes> executed{};
  };
  struct WarpTrace {
    std::unordered_map<const void*, Site> sites;
    std::array<std::uint32_t, kLanes> accesses{};  // of each lane since the warp last met
    const void* last_site = nullptr;
    Site* last = nullptr;
  };
  using Bits = std::array<std::uint64_t, kPageBytes / 64>;
  struct TouchedPage {
    Bits read_first{};  // read before the launch wrote it
    Bits read{};
    Bits read_back{};  // read after the launch wrote it
    Bits written{};
  };

  WarpTrace& trace_of(std::uint32_t block, unsigned warp);
  void add(std::uint32_t block, const Thread& thread, const Access& access, Space space);
  void touch(const Access& access);
  void count(const Request& request);
  // Of a site that some lanes executed more often than others.
  void count_uneven(const WarpTrace& trace, const Site& site);
  void count_global_request(const Request& request);
  void count_shared_request(const Request& request);

  std::unordered_map<std::uint64_t, WarpTrace> traces_;
  std::uint64_t last_trace_key_ = ~std::uint64_t{0};
  WarpTrace* last_trace_ = nullptr;
  std::unordered_map<std::uint64_t, std::unique_ptr<TouchedPage>> pages_;
  std::uint64_t last_page_number_ = ~std::uint64_t{0};
  TouchedPage* last_page_ = nullptr;
  std::vector<ReachableRange> scratch_;
  TrafficCounts counts_;
};

}  // namespace stitch::emulator
