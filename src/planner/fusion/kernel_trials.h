// What sets of nodes would cost as kernels: built on trial in a copy of the access graph, and
// forgotten but for their figures.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "planner/fusion/step_builder.h"

namespace stitch {

// A kernel as the search sees it.
struct TrialKernel {
  Estimate estimate;  // not finished
  ByteCounts bytes;
  bool stays_alone = false;  // see packing.h
  std::vector<AccessValueId> reads;
  std::vector<AccessValueId> writes;
};

// What building a request on trial counts, in nodes.
int64_t trial_effort(const KernelRequest& request);

class KernelTrials {
 public:
  // `graph` as it is when the search begins; ids of its nodes and values stay valid.
  KernelTrials(const AccessGraph& graph, const DeviceModel& device);

  const AccessGraph& graph() const { return plan_.graph; }
  const DeviceModel& device() const { return device_; }
  // The kernels that the request becomes, in launch order; remembered.
  const std::vector<TrialKernel>& kernels(const KernelRequest& request);
  // Whether the request can be one launch, and its microseconds then; independent parts are merged
  // and packed as in a plan.
  std::optional<double> one_launch_us(const KernelRequest& request);
  // Nodes of all requests that were built so far: what the trials have cost.
  int64_t built_nodes() const { return built_nodes_; }

 private:
  const DeviceModel& device_;
  Plan plan_;
  PlanBuffers buffers_;
  KernelBuilder builder_;
  StepBuilder steps_;
  const KernelBuilder::Mark empty_;
  std::map<std::vector<uint32_t>, std::vector<TrialKernel>> known_;
  int64_t built_nodes_ = 0;
};

// What a plan of such kernels is compared by.
struct PlanScore {
  double us = 0;  // level by level, independent kernels packed
  int64_t bytes = 0;
  size_t kernels = 0;
};
// By time; within a thousandth by bytes, then by kernels: at batch 1 nearly every kernel sits on
// the latency floor, and times alone do not discriminate.
bool is_better(const PlanScore& a, const PlanScore& b);
// Of kernels of one level, those in one launch that packing takes together.
double level_us(const std::vector<Estimate>& kernels, const DeviceModel& device);
// Of kernels in any order, none of which waits for itself.
PlanScore score(std::span<const TrialKernel* const> kernels, const DeviceModel& device);

}  // namespace stitch
