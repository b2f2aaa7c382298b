// The order of storage of values between kernels, as their neighbours in the graph read and write.
//
//   x[n,h,w,c] seen as [n,c,h,w], plus y[n,c,h,w], which is stored as n,h,w,c   the sum is, too
//
// Exporters permute between channels first and channels last around every convolution. A sum stored
// in the order of its own dims turns tiles in shared memory, and its readers turn them back.
#pragma once
#include <functional>

#include "planner/access/access_graph.h"

namespace stitch {

// Gives values (AccessValue::strides) the order for which most of their neighbours are: operands
// for their own, readers for that of their results, reduces for what they sum to lie side by side.
// Outputs, and what contractions write or read for which `is_library` holds, stay as they are.
void choose_value_orders(AccessGraph& graph, const std::function<bool(AccessNodeId)>& is_library);

}  // namespace stitch
