// The emulated driver's checks, driven through its control functions when they are there.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/bundle_format.h"
#include "runtime/driver.h"

namespace stitch::runtime {

enum class ThreadOrder : std::int32_t { kAscending = 0, kDescending = 1, kRandom = 2 };

// What to check and count, and in which order threads run (emulator_control.h of the emulator).
struct EmulatorSettings {
  std::string architecture;  // "sm_90": present itself as its default device; empty: sm_80
  bool check = false;
  bool count = false;
  ThreadOrder order = ThreadOrder::kAscending;
  std::uint64_t seed = 0;
};

struct EmulatorReport {
  std::string kind;    // "race", "out of bounds", ...
  std::string kernel;  // empty when it is not about a kernel
  std::string text;    // one line
};

// What one launch did. A request is one warp that executes one access instruction; a sector is 32
// bytes.
struct LaunchCounts {
  std::string function;
  std::uint64_t blocks = 0;
  double host_seconds = 0;
  std::uint64_t block_barriers = 0;  // of all blocks
  std::uint64_t cluster_barriers = 0;
  std::uint64_t releases = 0;        // additions that order blocks: tickets, grid barriers
  std::uint64_t warp_exchanges = 0;  // shuffles and votes, of all warps
  std::uint64_t atomics = 0;
  std::uint64_t products = 0;  // of tensor cores
  std::uint64_t global_requests = 0;
  std::uint64_t vector_requests = 0;  // of them, with 16 bytes a lane
  std::uint64_t sectors = 0;
  std::uint64_t sector_bytes = 0;  // bytes of the sectors that some lane uses
  std::uint64_t shared_requests = 0;
  std::uint64_t shared_wavefronts = 0;
  std::uint64_t shared_ideal_wavefronts = 0;
  std::uint64_t read_bytes = 0;  // distinct, of each launch: not written by itself before
  std::uint64_t written_bytes = 0;
  std::uint64_t read_back_bytes = 0;  // distinct, read after the launch wrote them
};

// A driver file's control functions. Found by name, since a bundle runs on real drivers as well.
class EmulatorControl {
 public:
  // Opens the driver's file; `available()` is false when it is not the emulated driver.
  explicit EmulatorControl(const std::string& driver_file);

  bool available() const { return configure_ != nullptr; }

  // Before the driver is initialised. Throws LauncherError with kNoDevice for an unknown one.
  void select_device(const std::string& architecture) const;
  void configure(const EmulatorSettings& settings) const;

  enum class Role : std::int32_t {
    kInput = 1,
    kOutput = 2,
    kScratch = 3,
    kWeights = 4,
    kCounters = 5
  };
  void register_range(CUdeviceptr begin, std::size_t bytes, const std::string& name,
                      Role role) const;
  void discard(CUdeviceptr begin, std::size_t bytes) const;
  void check_outputs() const;

  std::vector<EmulatorReport> reports() const;
  // Reports of device memory that is still allocated, and of overwritten guards around it.
  std::vector<EmulatorReport> leaks() const;
  void clear_reports() const;

  // In launch order, since the counters were reset, while it was asked to count.
  std::vector<LaunchCounts> launch_counts() const;
  void reset_counters() const;

 private:
  std::vector<EmulatorReport> reports_from(std::size_t first) const;

  int (*select_device_)(const char*) = nullptr;
  int (*configure_)(const void*) = nullptr;
  int (*register_range_)(const void*, std::size_t, const char*, std::int32_t) = nullptr;
  int (*discard_)(const void*, std::size_t) = nullptr;
  void (*check_outputs_)() = nullptr;
  void (*check_leaks_)() = nullptr;
  std::size_t (*report_count_)() = nullptr;
  int (*report_)(std::size_t, void*) = nullptr;
  void (*clear_reports_)() = nullptr;
  std::size_t (*launch_count_)() = nullptr;
  int (*launch_)(std::size_t, void*) = nullptr;
  void (*reset_counters_)() = nullptr;
};

}  // namespace stitch::runtime
