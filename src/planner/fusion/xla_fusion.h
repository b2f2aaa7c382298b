// Mode `xla`: the fusion that XLA for GPUs had when both papers compared with it (2021): producers
// go into all of their consumers (instruction fusion), an element-wise root and a reduce over the
// same points share a kernel (multi-output fusion); siblings and small kernels are joined later
// (sibling_merge.h, packing.h). A reduce ends its kernel: nothing is stitched behind it.
#pragma once
#include <vector>

#include "planner/access/access_graph.h"
#include "planner/kernel/kernel_cut.h"

namespace stitch {

// Kernels for the nodes of a region, in launch order. `needed`: by value, whether anything outside
// of the region reads it. A node that is cheap or read once per element may be in several kernels,
// at most 15 times in one.
std::vector<KernelRequest> fuse_like_xla(const AccessGraph& graph,
                                         const std::vector<AccessNodeId>& region,
                                         const std::vector<bool>& needed);

}  // namespace stitch
