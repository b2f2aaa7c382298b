// Steps of a plan before they are named: their levels, and the order in which they are launched.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "planner/kernel/kernel_builder.h"
#include "planner/plan/plan.h"
#include "planner/plan/step_buffers.h"

namespace stitch {

// A step with what it was built from, so that it can be built again: for another block size, or
// together with another step.
struct PlannedStep {
  Step step;
  std::optional<KernelRequest> request;  // none: calls, and kernels that stay alone
  std::map<AccessValueId, int64_t> read_bytes;
  int decided_launch = -1;  // steps of equal number share a launch; < 0: nothing is decided
};

std::vector<StepBuffers> buffers_of(const Plan& plan, const std::vector<PlannedStep>& steps);

// Per step the number of steps on the longest path to it; `used` in launch order.
std::vector<int> step_levels(const std::vector<StepBuffers>& used);

// Per step the last level at which it could be launched while all others keep theirs.
std::vector<int> latest_levels(const std::vector<StepBuffers>& used,
                               const std::vector<int>& levels);

// Every step behind those that write what it reads; ties go to the step that came first.
std::vector<PlannedStep> in_launch_order(const Plan& plan, std::vector<PlannedStep> steps);

}  // namespace stitch
