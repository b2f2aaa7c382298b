// Instructions of a group, of single threads, in issue slots as the latency evaluator counts them.
#pragma once
#include <span>

#include "planner/device/device_model.h"
#include "planner/plan/plan.h"
#include "planner/structure/value_trace.h"

namespace stitch {

// `traces`: of the roots of the group. Nodes that are evaluated at their own atoms count once per
// point of their own; those that are evaluated elsewhere (behind a gather, in a window), once per
// point of the group and of the windows around them.
double count_instructions(const KernelNodes& nodes, const DeviceModel& device, const Stage& stage,
                          const Group& group, std::span<const Trace* const> traces);

}  // namespace stitch
