// The invariants of a graph.
#pragma once
#include "graph/graph.h"

namespace stitch {

// InternalError naming the node and the broken rule: operands before uses, use lists, result types
// as inferred, attributes of the op's kind, outputs defined.
void validate(const Graph& graph);

}  // namespace stitch
