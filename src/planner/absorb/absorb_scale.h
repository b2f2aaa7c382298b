// Scalar factors of operands of matrix products: the library multiplies the sum by them instead, in
// the accumulation type.
#pragma once
#include <functional>

#include "planner/access/access_graph.h"

namespace stitch {

// x * c, for a constant c, that nothing but products computed by library calls (`is_library`) read:
// they read x, and c joins AccessNode::scale. In attention this leaves q * scale no kernel. The sum
// is rounded once less and in another order (numerics.md, item 8 bounds it). Node and value ids
// change.
void fold_operand_scales(AccessGraph& graph, const std::function<bool(AccessNodeId)>& is_library);

}  // namespace stitch
