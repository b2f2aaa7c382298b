// Builds a kernel whose blocks keep all that passes between its groups in shared memory
// (shared_stage.h), for sets of nodes that no block could own by rows.
#pragma once
#include <optional>

#include "planner/device/device_model.h"
#include "planner/kernel/kernel_builder.h"
#include "planner/plan/plan.h"
#include "planner/plan/plan_buffers.h"

namespace stitch {

// None when a block's rows do not fit.
std::optional<BuiltKernel> build_shared_kernel(Plan& plan, PlanBuffers& buffers,
                                               const DeviceModel& device,
                                               const KernelRequest& request);

}  // namespace stitch
