// The axes of every value of a graph, unified over all nodes: which loop indices are the same one.
//
// Element-wise ops unify their operands, reshape splits, transpose permutes, broadcast adds, reduce
// drops, a contraction unifies batch, m, n and k; slice, pad, concat, gather and windows make fresh
// axes in the dims that they change (stitching.md 6a).
#pragma once
#include <vector>

#include "graph/graph.h"
#include "planner/access/access_axes.h"

namespace stitch {

struct GraphAxes {
  AxisClasses classes;
  std::vector<std::vector<AxisSequence>> dims;  // of ValueId: per dim; extent 1: empty
  // Of NodeId: iteration axes that the result does not have, per dim: reduced dims; k of a matmul;
  // input channel and kernel of a conv; the kernel of a window; the sorted dim of top_k; the dims
  // of a scatter's updates.
  std::vector<std::vector<AxisSequence>> reduced;
};

// `live[node]`: nodes that reach an output; the others get no axes.
GraphAxes unify_axes(const Graph& graph, const std::vector<bool>& live);

}  // namespace stitch
