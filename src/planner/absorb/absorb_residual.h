// Residuals added to matrix products: the library takes them as its operand C, in the accumulation
// type.
//
//   before   call: p = a.b            kernel: s = x + p, n = norm(s)    stored: p, s, n
//   after    call: s = a.b + x        kernel: n = norm(s)               stored: s, n
#pragma once
#include <functional>

#include "planner/access/access_graph.h"

namespace stitch {

// A product that a library call computes (`is_library`), perhaps with a row added to it, and read
// by nothing but an addition of a tensor of its shape, becomes a contraction with that tensor as a
// further operand, which computes the sum. Only where the sum and the tensor are in memory in any
// case, so that a kernel writes less or is gone, never where a kernel would keep the sum on chip.
// Depths are set anew; node and value ids change.
void fold_residual_adds(AccessGraph& graph, const std::function<bool(AccessNodeId)>& is_library);

}  // namespace stitch
