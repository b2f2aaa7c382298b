// Packs independent kernels into one launch: each becomes a part with blocks of its own
// (FusionStitching's kernel packing; stitching.md 6b 3: last of all).
#pragma once
#include <vector>

#include "planner/fusion/step_order.h"
#include "planner/kernel/kernel_builder.h"
#include "planner/plan/plan.h"

namespace stitch {

struct PackingOptions {
  // Kernels below so many bytes sit on the latency floor: packed, they save a launch and a floor.
  int64_t small_bytes = int64_t{4} << 20;
};

// Joins kernels of equal level (longest path from the start), then orders the steps anew.
std::vector<PlannedStep> pack_kernels(const Plan& plan, KernelBuilder& builder,
                                      std::vector<PlannedStep> steps,
                                      const PackingOptions& options = {});

}  // namespace stitch
