#include "emulator/check/release_history.h"

#include <algorithm>

namespace stitch::emulator {
namespace {

constexpr std::uint32_t kLanes = 32;

bool happened_before(const Stamp& access, const Release& release) {
  if (access.barriers < release.barriers || access.thread == release.thread) return true;
  return access.thread / kLanes == release.thread / kLanes && access.barriers == release.barriers &&
         access.meetings < release.meetings;
}

}  // namespace

bool ReleaseHistory::covers(std::uint32_t block, std::uint32_t count, const Stamp& access) const {
  const auto found = releases_.find(block);
  if (found == releases_.end()) return false;
  const std::size_t last = std::min<std::size_t>(count, found->second.size());
  for (std::size_t r = access.releases; r < last; ++r)
    if (happened_before(access, found->second[r])) return true;
  return false;
}

bool ReleaseHistory::covers_all_readers(std::uint32_t block, std::uint32_t count,
                                        const Stamp& latest) const {
  if (!latest.shared) return covers(block, count, latest);
  const auto found = releases_.find(block);
  if (found == releases_.end()) return false;
  const std::size_t last = std::min<std::size_t>(count, found->second.size());
  for (std::size_t r = latest.releases; r < last; ++r)
    if (latest.barriers < found->second[r].barriers) return true;
  return false;
}

}  // namespace stitch::emulator
