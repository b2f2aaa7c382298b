#include "emulator/device/report.h"

#include <utility>

namespace stitch::emulator {
namespace {

constexpr std::size_t kMaxReports = 100;  // per log: the first ones say what is wrong

}  // namespace

const char* report_kind_name(ReportKind kind) {
  switch (kind) {
    case ReportKind::kRace:
      return "race";
    case ReportKind::kOutOfBounds:
      return "out of bounds";
    case ReportKind::kUndefinedRead:
      return "undefined read";
    case ReportKind::kMisaligned:
      return "misaligned access";
    case ReportKind::kBarrierDivergence:
      return "barrier divergence";
    case ReportKind::kWarpMask:
      return "warp mask";
    case ReportKind::kDeadlock:
      return "deadlock";
    case ReportKind::kClusterExit:
      return "cluster exit";
    case ReportKind::kAsyncCopy:
      return "asynchronous copy";
    case ReportKind::kUnwrittenOutput:
      return "unwritten output";
    case ReportKind::kLeak:
      return "leak";
    case ReportKind::kGuardOverwritten:
      return "guard overwritten";
    case ReportKind::kTrap:
      return "trap";
    case ReportKind::kUsage:
      return "usage";
  }
  return "";
}

void ReportLog::add(Report report) { add(std::move(report), nullptr); }

void ReportLog::add(Report report, const std::function<std::string()>& where) {
  const std::lock_guard lock(mutex_);
  Key key{report.kind, report.kernel, report.message, report.place.site, report.other.site};
  if (!seen_.insert(std::move(key)).second) return;
  if (reports_.size() >= kMaxReports) {
    ++dropped_;
    return;
  }
  if (where) report.message += " (" + where() + ")";
  reports_.push_back(std::move(report));
}

std::vector<Report> ReportLog::take() {
  const std::lock_guard lock(mutex_);
  seen_.clear();
  return std::exchange(reports_, {});
}

std::size_t ReportLog::size() const {
  const std::lock_guard lock(mutex_);
  return reports_.size();
}

std::uint64_t ReportLog::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

}  // namespace stitch::emulator
