// What the emulator found wrong with a kernel or with a call: the finding as a value.
#pragma once
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace stitch::emulator {

enum class ReportKind : std::uint8_t {
  kRace,
  kOutOfBounds,
  kUndefinedRead,
  kMisaligned,
  kBarrierDivergence,
  kWarpMask,
  kDeadlock,
  kClusterExit,
  kAsyncCopy,
  kUnwrittenOutput,
  kLeak,
  kGuardOverwritten,
  kTrap,
  kUsage,
};

// The name under which a kind is printed, as in "race".
const char* report_kind_name(ReportKind kind);

// A place in a kernel as one thread saw it.
struct CodePlace {
  const void* site = nullptr;  // code address; null when there is none
  std::uint32_t block = 0;     // linear index in the grid
  std::uint32_t thread = 0;    // linear index in the block
  bool known = false;
};

struct Report {
  ReportKind kind = ReportKind::kUsage;
  std::string kernel;   // empty when the report is not about a kernel
  std::string message;  // what was found, without places
  CodePlace place;
  CodePlace other;  // the other party of a race or a divergence
  // Filled in when the launch has ended: "softmax.cu:31" and the like.
  std::string line;
  std::string other_line;
};

// Collects reports; a finding that repeats at the same places of the code is kept once.
class ReportLog {
 public:
  void add(Report report);
  // The same; " (at ...)" with the place in memory is added to the message when it is new.
  void add(Report report, const std::function<std::string()>& where);
  std::vector<Report> take();  // in the order of arrival; empties the log
  std::size_t size() const;
  std::uint64_t dropped() const;

 private:
  using Key = std::tuple<ReportKind, std::string, std::string, const void*, const void*>;
  mutable std::mutex mutex_;
  std::vector<Report> reports_;
  std::set<Key> seen_;
  std::uint64_t dropped_ = 0;
};

}  // namespace stitch::emulator
