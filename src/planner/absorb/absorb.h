// What contractions take over from the nodes around them: transposes, reshapes, slices and
// broadcasts of operands and results become strides of a library call instead of a kernel
// (stitching.md 7a).
//
//   scores = q . k^T with q, k: [128,768] read as [12,128,64]   one strided batch of 12 products
//   context [12,128,64] read as [128,768] by the next product   stored in the order 128, 12, 64
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/absorb/contraction_layout.h"
#include "planner/access/access_graph.h"
#include "planner/device/device_model.h"

namespace stitch {

// How one contraction is computed.
struct ContractionChoice {
  AccessNodeId node;
  bool library = false;
  MatmulLayout layout;  // library only
  std::string reason;   // one lower-case sentence without a final period
};

// Changes the graph: contractions write the copies of their results themselves, values that only
// contractions read get an order of storage (AccessValue::strides) that library calls can take, and
// operands that no call can take are copied where that is cheaper than an own kernel. Depths are
// set anew. Nodes stay topological, their ids change. The choices are in the order of the nodes.
//
// `decided` may say of a contraction that has a library form whether it is a call; it is asked
// before sizes decide. `own_epilogues`: kernels compiled by us take element-wise nodes along, so
// that a product may be one of them for what that saves.
using LibraryDecision = std::function<std::optional<bool>(const AccessNode&)>;
std::vector<ContractionChoice> absorb_layouts(AccessGraph& graph, const DeviceModel& device,
                                              const LibraryDecision& decided = {},
                                              bool own_epilogues = false);

// Microseconds of a library call: launches, and the longer of its products, by the share of the
// peak that they reach (a guess), and of its operands and result through memory.
double library_us(const AccessGraph& graph, const MatmulLayout& layout, const DeviceModel& device);

}  // namespace stitch
