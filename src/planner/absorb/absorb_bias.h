// Rows added to matrix products: the library adds them in its epilogue, in the accumulation type.
#pragma once
#include <functional>

#include "planner/access/access_graph.h"

namespace stitch {

// A product that a library call computes (`is_library`), read by nothing but an addition of a
// constant or an input that has one element per column, becomes a contraction with that row as
// operand 2, which computes the sum. Not where kernels alone read the sum: such a kernel would add
// the row for nothing. Node and value ids change.
void fold_bias_adds(AccessGraph& graph, const std::function<bool(AccessNodeId)>& is_library);

// Products that own kernels do not know: with something added, or with a scale.
inline bool needs_library(const AccessNode& node) {
  return node.kind == AccessKind::kContraction && (node.operands.size() > 2 || node.scale != 1);
}

}  // namespace stitch
