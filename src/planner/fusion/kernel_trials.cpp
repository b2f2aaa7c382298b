#include "planner/fusion/kernel_trials.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "planner/cost/cost.h"
#include "planner/fusion/packing.h"
#include "planner/fusion/sibling_merge.h"

namespace stitch {
namespace {

// More are traced again and again where they are long chains.
constexpr int64_t kNodesTracedOnce = 48;
// Times that differ by less are equal.
constexpr double kEqualShare = 1e-3;

Plan trial_plan(const AccessGraph& graph, const DeviceModel& device) {
  Plan plan;
  plan.graph = graph;
  plan.device = device.name;
  plan.architecture = device.architecture;
  return plan;
}

std::vector<uint32_t> key_of(const KernelRequest& request) {
  std::vector<uint32_t> key = {request.may_wait ? 1u : 0u};
  for (const AccessNodeId node : request.nodes) key.push_back(node.index);
  key.push_back(static_cast<uint32_t>(-1));
  for (const AccessValueId value : request.stored) key.push_back(value.index);
  return key;
}

TrialKernel trial_of(const PlannedStep& step) {
  const Kernel& kernel = std::get<Kernel>(step.step);
  TrialKernel trial;
  trial.estimate = kernel.estimate;
  trial.bytes = kernel.bytes;
  trial.stays_alone = stays_alone(kernel);
  for (const auto& [value, bytes] : step.read_bytes) trial.reads.push_back(value);
  trial.writes = step.request->stored;
  return trial;
}

}  // namespace

int64_t trial_effort(const KernelRequest& request) {
  const auto nodes = static_cast<int64_t>(request.nodes.size());
  return nodes * (1 + nodes / kNodesTracedOnce);
}

KernelTrials::KernelTrials(const AccessGraph& graph, const DeviceModel& device)
    : device_(device),
      plan_(trial_plan(graph, device)),
      buffers_(plan_),
      builder_(plan_, buffers_, device),
      steps_(plan_.graph, builder_, device),
      empty_(builder_.mark()) {}

const std::vector<TrialKernel>& KernelTrials::kernels(const KernelRequest& request) {
  const auto [found, is_new] = known_.try_emplace(key_of(request));
  if (!is_new) return found->second;
  for (const PlannedStep& step : steps_.build(request).steps) {
    found->second.push_back(trial_of(step));
  }
  built_nodes_ += trial_effort(request);
  builder_.forget_after(empty_);
  return found->second;
}

std::optional<double> KernelTrials::one_launch_us(const KernelRequest& request) {
  std::vector<PlannedStep> steps = steps_.build(request).steps;
  if (steps.size() > 1) {
    steps = merge_siblings(plan_, builder_, device_, std::move(steps));
    steps = pack_kernels(plan_, builder_, device_, std::move(steps));
  }
  builder_.forget_after(empty_);
  if (steps.size() != 1) return std::nullopt;
  return predicted_us(std::get<Kernel>(steps.front().step), device_);
}

bool is_better(const PlanScore& a, const PlanScore& b) {
  const double smaller = std::min(a.us, b.us);
  if (std::abs(a.us - b.us) > kEqualShare * smaller) return a.us < b.us;
  if (a.bytes != b.bytes) return a.bytes < b.bytes;
  return a.kernels < b.kernels;
}

namespace {

// Kernels on the longest path to each.
class Levels {
 public:
  explicit Levels(std::span<const TrialKernel* const> kernels)
      : kernels_(kernels), levels_(kernels.size(), -1) {
    for (size_t k = 0; k < kernels.size(); ++k) {
      for (const AccessValueId value : kernels[k]->writes) writers_.emplace(value, k);
    }
  }

  std::vector<int> run() {
    for (size_t k = 0; k < kernels_.size(); ++k) level(k);
    return levels_;
  }

 private:
  int level(size_t k) {
    if (levels_[k] >= 0) return levels_[k];
    int found = 0;
    for (const AccessValueId value : kernels_[k]->reads) {
      const auto writer = writers_.find(value);
      if (writer != writers_.end() && writer->second != k) {
        found = std::max(found, level(writer->second) + 1);
      }
    }
    return levels_[k] = found;
  }

  const std::span<const TrialKernel* const> kernels_;
  std::unordered_map<AccessValueId, size_t> writers_;
  std::vector<int> levels_;
};

std::vector<int> levels_of(std::span<const TrialKernel* const> kernels) {
  return Levels(kernels).run();
}

}  // namespace

double level_us(const std::vector<Estimate>& kernels, const DeviceModel& device) {
  std::vector<Estimate> packed;
  double together = 0, apart = 0;
  for (const Estimate& kernel : kernels) {
    const double own = packed_us(std::array{kernel}, device);
    packed.push_back(kernel);
    const double joint = packed_us(packed, device);
    if (together + own - joint >= kLeastShareSavedByPacking * (together + own) ||
        packed.size() == 1) {
      together = joint;
    } else {
      packed.pop_back();
      apart += own;
    }
  }
  return together + apart;
}

PlanScore score(std::span<const TrialKernel* const> kernels, const DeviceModel& device) {
  const std::vector<int> levels = levels_of(kernels);
  std::map<int, std::vector<Estimate>> packed;
  PlanScore sum;
  sum.kernels = kernels.size();
  for (size_t k = 0; k < kernels.size(); ++k) {
    sum.bytes += kernels[k]->bytes.bytes;
    if (kernels[k]->stays_alone) {
      sum.us += packed_us(std::array{kernels[k]->estimate}, device);
    } else {
      packed[levels[k]].push_back(kernels[k]->estimate);
    }
  }
  for (const auto& [level, estimates] : packed) sum.us += level_us(estimates, device);
  return sum;
}

}  // namespace stitch
