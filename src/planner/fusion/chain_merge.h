// Makes one kernel of two that follow each other across a product: a matrix-vector product, or an
// own sum of products, with the kernel that computes its vector. The search ends at such borders,
// since the two belong to different depths.
//
// Legality is that of any kernel (kernel_builder.h): all blocks of the second compute the small
// first again, share it in shared memory, or meet at a barrier, whatever is predicted to be
// fastest.
#pragma once
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "planner/device/device_model.h"
#include "planner/fusion/step_order.h"
#include "planner/kernel/kernel_builder.h"
#include "planner/plan/plan.h"

namespace stitch {

// Two kernels as one, as far as a decision needs it.
struct JointKernel {
  Estimate estimate;
  bool stays_alone = false;  // see packing.h
  bool in_shared = false;    // KernelRequest
};
// By signature (region_signature.h): layers and time steps have equal ones, and so have the starts
// of a plan, which share what they have found. None: no kernel.
using JointKernels = std::unordered_map<uint64_t, std::optional<JointKernel>>;

// A pair becomes one where that takes less time than the two, each packed with what its level has;
// no step may wait for one of the pair and be waited for by the other. Orders the steps anew.
std::vector<PlannedStep> merge_chains(const Plan& plan, KernelBuilder& builder,
                                      const DeviceModel& device, std::vector<PlannedStep> steps,
                                      JointKernels& known);

}  // namespace stitch
