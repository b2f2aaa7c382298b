// Epilogues: the element-wise nodes that an own contraction kernel computes on its results while
// they are in registers (stitching.md 7a).
#pragma once
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "planner/access/access_graph.h"

namespace stitch {

struct EpilogueOptions {
  // Of a contraction: whether a kernel of ours with tiles of results computes it.
  std::function<bool(AccessNodeId)> has_own_kernel;
  int64_t most = INT64_MAX;        // contractions that get an epilogue; bisects a wrong one
  std::vector<AccessNodeId> only;  // not empty: only epilogues that hold one of these nodes
};

// Whether the options leave it to these nodes to go along with a contraction.
bool is_asked_for(const EpilogueOptions& options, const std::set<AccessNodeId>& members);

// Marks nodes as computed with a contraction (AccessNode::computed_with). Depths are set. A node
// goes along when
// - it is element-wise over the contraction's own points and reads results of the kernel only at
//   its own point;
// - all else that it reads is in memory before the kernel starts, whatever the other kernels are:
//   inputs, constants, nodes of no larger depth than the contraction, contractions before it in the
//   order of (depth, id), and what is computed with those. So no two kernels wait for each other;
// - the bytes that are stored do not grow: a node that only a region of the same depth reads stays
//   there unless its result is narrower than what it is computed from.
// An element-wise node of other values that is read by such nodes alone goes along too.
//
//   c = conv(x, w); a = c + bias; s = a + shortcut; y = relu(s); m = mean(y)
//   =>  a, s and y are computed with c, which is stored nowhere; m is a kernel that reads y
//
// Linear in the nodes that read contractions, and their operands.
void take_epilogues(AccessGraph& graph, const EpilogueOptions& options);

}  // namespace stitch
