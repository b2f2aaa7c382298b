// The order of storage of constant matrices that own kernels multiply with vectors.
//
//   y[n] = sum over k of x[k] * w[k,n]     w is stored as [n,k]
//
// A row of such a matrix is summed by neighbouring lanes, so that a warp, or a few, own a result,
// and many results are spread over many blocks without one that waits for another. The matrix is
// rearranged when the bundle is written, never at run time.
#pragma once
#include <functional>

#include "planner/access/access_graph.h"

namespace stitch {

// Stores the summed dims of a constant innermost (AccessValue::strides) where all that reads it are
// contractions for which `sums_products` holds, which agree about those dims, and sums are long.
void lay_out_matrices(AccessGraph& graph, const std::function<bool(AccessNodeId)>& sums_products);

}  // namespace stitch
