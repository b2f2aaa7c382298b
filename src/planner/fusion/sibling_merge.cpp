#include "planner/fusion/sibling_merge.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_set>
#include <utility>
#include <variant>

#include "planner/cost/cost.h"
#include "planner/fusion/joined_request.h"
#include "planner/fusion/region_signature.h"

namespace stitch {
namespace {

// Kernels are tried when they could save this share of their bytes. A detour through shared memory
// has to save more: its accesses are no vectors.
constexpr int64_t kLeastShare = 64;
constexpr int64_t kLeastShareInShared = 16;

class SiblingMerger {
 public:
  SiblingMerger(const AccessGraph& graph, KernelBuilder& builder, const DeviceModel& device,
                std::vector<PlannedStep>& steps)
      : graph_(graph),
        builder_(builder),
        device_(device),
        steps_(steps),
        gone_(steps.size(), false) {}

  void merge(const std::vector<size_t>& members) {
    for (size_t i = 0; i < members.size(); ++i) {
      if (gone_[members[i]]) continue;
      // A merged kernel reads more than before: those that it passed over are tried again.
      size_t j = i + 1;
      while (j < members.size()) {
        const bool merged = !gone_[members[j]] && try_pair(members[i], members[j]);
        j = merged ? i + 1 : j + 1;
      }
    }
  }

  std::vector<PlannedStep> left() {
    std::vector<PlannedStep> left;
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (!gone_[i]) left.push_back(std::move(steps_[i]));
    }
    return left;
  }

 private:
  bool try_pair(size_t host, size_t guest) {
    const Kernel& a = std::get<Kernel>(steps_[host].step);
    const Kernel& b = std::get<Kernel>(steps_[guest].step);
    const int64_t apart = a.bytes.bytes + b.bytes.bytes;
    if (shared_bytes(host, guest) * kLeastShare < apart) return false;
    KernelRequest request = joined_request(*steps_[host].request, *steps_[guest].request);
    const uint64_t signature = signature_of(graph_, RegionNodes(graph_, request));
    if (failed_.count(signature) != 0) return false;
    const double packed = packed_us(std::array{a.estimate, b.estimate}, device_);
    const KernelBuilder::Mark before = builder_.mark();
    for (const bool in_shared : {false, true}) {
      if (in_shared && !request.may_be_in_shared) break;
      request.in_shared = in_shared;
      std::variant<BuiltKernel, KernelCut> built = builder_.build(request);
      BuiltKernel* const together = std::get_if<BuiltKernel>(&built);
      if (together == nullptr || predicted_us(together->kernel, device_) > packed) continue;
      const int64_t saved = apart - together->kernel.bytes.bytes;
      if (saved * (in_shared ? kLeastShareInShared : kLeastShare) < apart) continue;
      together->kernel.why_not_larger =
          a.why_not_larger.empty() ? b.why_not_larger : a.why_not_larger;
      steps_[host] = {std::move(together->kernel), request, std::move(together->read_bytes)};
      gone_[guest] = true;
      return true;
    }
    builder_.forget_after(before);
    failed_.insert(signature);
    return false;
  }

  int64_t shared_bytes(size_t a, size_t b) const {
    int64_t shared = 0;
    for (const auto& [value, bytes] : steps_[a].read_bytes) {
      const auto found = steps_[b].read_bytes.find(value);
      if (found != steps_[b].read_bytes.end()) shared += std::min(bytes, found->second);
    }
    return shared;
  }

  const AccessGraph& graph_;
  KernelBuilder& builder_;
  const DeviceModel& device_;
  std::vector<PlannedStep>& steps_;
  std::vector<bool> gone_;
  std::unordered_set<uint64_t> failed_;  // signatures of pairs that stay two: layers, time steps
};

}  // namespace

std::vector<PlannedStep> merge_siblings(const Plan& plan, KernelBuilder& builder,
                                        const DeviceModel& device, std::vector<PlannedStep> steps) {
  const std::vector<int> levels = step_levels(buffers_of(plan, steps));
  std::map<int, std::vector<size_t>> by_level;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].request) by_level[levels[i]].push_back(i);
  }
  SiblingMerger merger(plan.graph, builder, device, steps);
  for (const auto& [level, members] : by_level) merger.merge(members);
  return in_launch_order(plan, merger.left());
}

}  // namespace stitch
