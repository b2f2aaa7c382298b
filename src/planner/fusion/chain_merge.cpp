#include "planner/fusion/chain_merge.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>
#include <variant>

#include "planner/cost/cost.h"
#include "planner/fusion/joined_request.h"
#include "planner/fusion/kernel_trials.h"
#include "planner/fusion/packing.h"
#include "planner/fusion/region_signature.h"
#include "planner/fusion/step_graph.h"

namespace stitch {
namespace {

// More would make the text of a kernel long, and planning slow.
constexpr size_t kMostNodes = 256;
// Nodes built in trials, for each node of the graph, and at least: planning stays linear.
constexpr int64_t kBuiltPerNode = 5;
constexpr int64_t kBuiltAtLeast = 8000;
// Of a reduce that is done within a launch.
constexpr int64_t kMostSmallPoints = 16 << 10;
// Of the time of the two: less is within what the estimates do not know.
constexpr double kLeastShareSaved = 0.02;

class ChainMerger {
 public:
  ChainMerger(const Plan& plan, KernelBuilder& builder, const DeviceModel& device,
              std::vector<PlannedStep> steps, JointKernels& known)
      : plan_(plan),
        builder_(builder),
        device_(device),
        steps_(plan, std::move(steps)),
        known_(known),
        left_(std::max(static_cast<int64_t>(plan.graph.nodes.size()) * kBuiltPerNode,
                       kBuiltAtLeast)) {}

  // The pair that saves most first.
  std::vector<PlannedStep> run() {
    for (size_t i = 0; i < steps_.size(); ++i) offer_readers(i);
    while (!offers_.empty()) {
      const Offer offer = *offers_.begin();
      offers_.erase(offers_.begin());
      const auto known = joints_.find({offer.first, offer.second});
      if (known == joints_.end()) continue;
      // What is launched beside the two may have changed.
      const double saved = saved_us(offer.first, offer.second, known->second);
      if (saved < offer.saved_us && !offers_.empty() && saved < offers_.begin()->saved_us) {
        if (saved > 0) offers_.insert({saved, offer.first, offer.second});
      } else if (saved > 0 && !steps_.has_path_between(offer.first, offer.second)) {
        merge(offer.first, offer.second, known->second);
      }
    }
    return steps_.take();
  }

 private:
  struct Offer {
    double saved_us = 0;
    size_t first = 0, second = 0;
    friend bool operator<(const Offer& a, const Offer& b) {
      if (a.saved_us != b.saved_us) return a.saved_us > b.saved_us;
      return std::pair(a.first, a.second) < std::pair(b.first, b.second);
    }
  };

  void offer_readers(size_t first) {
    for (const size_t second : steps_.readers(first)) offer(first, second);
  }

  void offer(size_t first, size_t second) {
    if (!steps_.step(first).request || !steps_.step(second).request) return;
    const KernelRequest request = joined(first, second);
    if (request.nodes.size() > kMostNodes || !crosses_a_product(request) ||
        !may_share_blocks(first, second)) {
      return;
    }
    const std::optional<JointKernel> joint = joint_of(request);
    if (!joint || !computes_all_between(request, first, second)) return;
    const double saved = saved_us(first, second, *joint);
    if (saved <= 0) return;
    joints_.insert_or_assign({first, second}, *joint);
    offers_.insert({saved, first, second});
  }

  void merge(size_t first, size_t second, const JointKernel& joint) {
    std::optional<PlannedStep> together = build(joined(first, second), joint.in_shared);
    if (!together) return;
    std::get<Kernel>(together->step).why_not_larger =
        std::get<Kernel>(steps_.step(second).step).why_not_larger;
    for (const size_t step : {first, second}) withdraw(step);
    steps_.replace(first, second, *std::move(together));
    offer_readers(first);
    for (const size_t writer : steps_.writers(first)) offer(writer, first);
  }

  // Offers with a step that is about to change.
  void withdraw(size_t step) {
    for (const size_t reader : steps_.readers(step)) joints_.erase({step, reader});
    for (const size_t writer : steps_.writers(step)) joints_.erase({writer, step});
  }

  // Not more than 0 where the two had better stay two.
  double saved_us(size_t first, size_t second, const JointKernel& joint) const {
    const double beside_second = us_without(second);
    const double apart = us_with(first, own(first)) - us_without(first) +
                         us_with(second, own(second)) - beside_second;
    const double saved = apart - (us_with(second, joint) - beside_second);
    return saved >= kLeastShareSaved * apart ? saved : 0;
  }

  // What only the second reads of the first's results is stored no longer.
  KernelRequest joined(size_t first, size_t second) const {
    KernelRequest request =
        joined_request(*steps_.step(first).request, *steps_.step(second).request);
    std::erase_if(request.stored,
                  [&](AccessValueId value) { return steps_.is_between(value, first, second); });
    // A barrier of all blocks costs more than the launch that it saves.
    request.grid = GridBarriers::kNever;
    return request;
  }

  // The nodes of a region without products were searched together.
  bool crosses_a_product(const KernelRequest& request) const {
    return std::any_of(request.nodes.begin(), request.nodes.end(), [&](AccessNodeId node) {
      return plan_.graph.node(node).kind == AccessKind::kContraction;
    });
  }

  // Cheaper than to build them: reduces of the first that every block can repeat, those of the
  // second that one block can finish, or blocks that own what all of them keep.
  bool may_share_blocks(size_t first, size_t second) const {
    const std::vector<AccessNodeId> before = reduces_of(first), behind = reduces_of(second);
    if (are_small(before) || are_small(behind)) return true;
    std::vector<AtomId> rows = plan_.graph.node(before.front()).axes;
    for (const std::vector<AccessNodeId>* list : {&before, &behind}) {
      for (const AccessNodeId id : *list) {
        std::erase_if(rows,
                      [&](AtomId atom) { return !contains(plan_.graph.node(id).axes, atom); });
      }
    }
    return point_count(plan_.graph.pool, rows) > 1;
  }

  std::vector<AccessNodeId> reduces_of(size_t step) const {
    std::vector<AccessNodeId> found;
    for (const AccessNodeId id : steps_.step(step).request->nodes) {
      if (is_reduce(plan_.graph.node(id))) found.push_back(id);
    }
    return found;
  }

  bool are_small(const std::vector<AccessNodeId>& reduces) const {
    return std::all_of(reduces.begin(), reduces.end(), [&](AccessNodeId id) {
      const AccessNode& node = plan_.graph.node(id);
      return point_count(plan_.graph.pool, node.axes) *
                 point_count(plan_.graph.pool, node.reduced) <=
             kMostSmallPoints;
    });
  }

  // Parts of an assembly meet in memory alone, so what reads the whole stays behind them.
  bool computes_all_between(const KernelRequest& request, size_t first, size_t second) const {
    std::unordered_set<AccessValueId> inside;
    for (const AccessNodeId id : request.nodes) {
      const std::vector<AccessValueId>& results = plan_.graph.node(id).results;
      inside.insert(results.begin(), results.end());
    }
    return std::all_of(request.nodes.begin(), request.nodes.end(), [&](AccessNodeId id) {
      const std::vector<AccessValueId> sources = sources_of(plan_.graph, plan_.graph.node(id));
      return std::all_of(sources.begin(), sources.end(), [&](AccessValueId source) {
        return inside.count(source) != 0 ||
               (!steps_.is_written_by(source, first) && !steps_.is_written_by(source, second));
      });
    });
  }

  std::optional<JointKernel> joint_of(const KernelRequest& request) {
    const uint64_t signature = signature_of(plan_.graph, RegionNodes(plan_.graph, request));
    const auto known = known_.find(signature);
    if (known != known_.end()) return known->second;
    if (left_ <= 0) return std::nullopt;
    const auto found = known_.try_emplace(signature).first;
    const KernelBuilder::Mark before = builder_.mark();
    double least = 0;
    for (const bool in_shared : {false, true}) {
      if (in_shared && !request.may_be_in_shared) break;
      const std::optional<PlannedStep> step = build(request, in_shared);
      left_ -= trial_effort(request);
      if (!step) continue;
      const Kernel& kernel = std::get<Kernel>(step->step);
      const double us = predicted_us(kernel, device_);
      if (found->second && us >= least) continue;
      least = us;
      found->second = JointKernel{kernel.estimate, stays_alone(kernel), in_shared};
    }
    builder_.forget_after(before);
    return found->second;
  }

  std::optional<PlannedStep> build(KernelRequest request, bool in_shared) {
    request.in_shared = in_shared;
    std::variant<BuiltKernel, KernelCut> built = builder_.build(request);
    BuiltKernel* const kernel = std::get_if<BuiltKernel>(&built);
    if (kernel == nullptr) return std::nullopt;
    return PlannedStep{std::move(kernel->kernel), request, std::move(kernel->read_bytes), -1};
  }

  JointKernel own(size_t step) const {
    const Kernel& kernel = std::get<Kernel>(steps_.step(step).step);
    return {kernel.estimate, stays_alone(kernel), false};
  }

  // Of the other kernels at the level of a step that can be packed.
  std::vector<Estimate> others(size_t step) const {
    std::vector<Estimate> found;
    for (const size_t other : steps_.beside(step)) {
      if (other == step || !steps_.step(other).request) continue;
      const Kernel& kernel = std::get<Kernel>(steps_.step(other).step);
      if (!stays_alone(kernel)) found.push_back(kernel.estimate);
    }
    return found;
  }

  double us_without(size_t step) const { return level_us(others(step), device_); }

  // Of those others and of this kernel in the place of the step.
  double us_with(size_t step, const JointKernel& kernel) const {
    std::vector<Estimate> all = others(step);
    if (kernel.stays_alone) return level_us(all, device_) + level_us({kernel.estimate}, device_);
    all.push_back(kernel.estimate);
    return level_us(all, device_);
  }

  const Plan& plan_;
  KernelBuilder& builder_;
  const DeviceModel& device_;
  StepGraph steps_;
  std::set<Offer> offers_;
  std::map<std::pair<size_t, size_t>, JointKernel> joints_;  // of the pairs that are offered
  JointKernels& known_;
  int64_t left_;  // nodes that may be built on trial
};

}  // namespace

std::vector<PlannedStep> merge_chains(const Plan& plan, KernelBuilder& builder,
                                      const DeviceModel& device, std::vector<PlannedStep> steps,
                                      JointKernels& known) {
  return ChainMerger(plan, builder, device, std::move(steps), known).run();
}

}  // namespace stitch
