// Kernels for contractions that we compile ourselves: a tile of results per block.
#pragma once
#include "planner/device/device_model.h"
#include "planner/plan/plan.h"
#include "planner/plan/plan_buffers.h"

namespace stitch {

// Result atoms by the operands that have them.
struct ContractionAxes {
  std::vector<AtomId> batch, m, n, k;  // both operands, operand 0 only, operand 1 only, summed
};
ContractionAxes contraction_axes(const AccessGraph& graph, const AccessNode& node);

// Enough rows and columns of results for tiles; the others (matrix times vector, depthwise) are
// sums of products for the mappings of reduces.
bool is_tiled_contraction(const AccessGraph& graph, const AccessNode& node);

struct ContractionRequest {
  AccessNodeId contraction;
  std::vector<AccessNodeId> nodes;    // with it and its epilogue (epilogue.h), topological
  std::vector<AccessValueId> stored;  // values of these nodes that others need; not empty
};

// The tile is chosen for the last of the stored values.
Kernel build_contraction(Plan& plan, PlanBuffers& buffers, const DeviceModel& device,
                         const ContractionRequest& request);

}  // namespace stitch
