// Packs independent kernels into one launch: each becomes a part with blocks of its own
// (FusionStitching's kernel packing; stitching.md 6b 3: last of all).
#pragma once
#include <vector>

#include "planner/device/device_model.h"
#include "planner/fusion/step_order.h"
#include "planner/kernel/kernel_builder.h"
#include "planner/plan/plan.h"

namespace stitch {

// Kernels are packed where that saves this share of their time: a launch, and a latency floor.
constexpr double kLeastShareSavedByPacking = 0.05;

// Joins kernels that can be launched at one level, be it the first that is possible (longest path
// from the start) or a later one before all readers. Orders the steps anew.
std::vector<PlannedStep> pack_kernels(const Plan& plan, KernelBuilder& builder,
                                      const DeviceModel& device, std::vector<PlannedStep> steps);

// No other kernel joins its launch: all of its blocks are resident, or they come in clusters.
inline bool stays_alone(const Kernel& kernel) { return kernel.cooperative || kernel.cluster > 1; }

}  // namespace stitch
