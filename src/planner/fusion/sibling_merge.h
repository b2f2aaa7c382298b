// Makes one kernel of independent kernels that read the same inputs, so that each input is loaded
// once: input fusion, for any sets of nodes that one kernel can hold.
#pragma once
#include <vector>

#include "planner/device/device_model.h"
#include "planner/fusion/step_order.h"
#include "planner/kernel/kernel_builder.h"
#include "planner/plan/plan.h"

namespace stitch {

// Kernels of equal level are tried in pairs. The pair becomes one when its nodes make one kernel
// that moves fewer bytes and takes no longer than the two of them packed.
std::vector<PlannedStep> merge_siblings(const Plan& plan, KernelBuilder& builder,
                                        const DeviceModel& device, std::vector<PlannedStep> steps);

}  // namespace stitch
