// From a set of nodes to steps: one kernel, or as many as the set has to be cut into.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "planner/device/device_model.h"
#include "planner/fusion/step_order.h"
#include "planner/kernel/kernel_builder.h"
#include "planner/plan/plan.h"

namespace stitch {

struct BuiltSteps {
  std::vector<PlannedStep> steps;  // kernels, in launch order
  std::vector<std::string> cuts;   // one sentence for each cut
};

class StepBuilder {
 public:
  StepBuilder(const AccessGraph& graph, KernelBuilder& builder, const DeviceModel& device)
      : graph_(graph), builder_(builder), device_(device) {}

  // No steps where nothing with elements is stored.
  BuiltSteps build(const KernelRequest& request);

 private:
  void add(const KernelRequest& request, const std::string& why_not_larger, BuiltSteps& built);
  bool replace_by_shared(KernelRequest request, size_t first, std::vector<PlannedStep>& steps);
  bool writes_nothing(const KernelRequest& request) const;

  const AccessGraph& graph_;
  KernelBuilder& builder_;
  const DeviceModel& device_;
};

// Microseconds of kernels as if those of equal level were packed. Levels follow from what the
// kernels store and read among themselves.
double level_by_level_us(std::span<const PlannedStep> steps, const DeviceModel& device);

}  // namespace stitch
