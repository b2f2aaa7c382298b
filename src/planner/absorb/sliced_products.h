// Products with a vector whose results are read in slices, side by side: the gates of a recurrent
// cell. Each slice becomes a product of its own with those columns of the matrix.
//
//   a = x . w + b, i = tanh(a[0:64]), f = tanh(a[64:128])     rows of a: 128
//   i = tanh(x . w[:, 0:64] + b[0:64]), f likewise            rows of both: the 64 of the cell
//
// All that is computed of one element of the cell belongs to the same row then, and a block can own
// it: products and gates are one kernel, which still reads x and w once.
#pragma once
#include <functional>

#include "planner/access/access_graph.h"

namespace stitch {

// Changes the graph where every reader of a product for which `sums_products` holds, or of the
// element-wise nodes that alone read it, reads one of several slices over the same atoms. Ids
// change; depths have to be set anew.
void split_sliced_products(AccessGraph& graph,
                           const std::function<bool(AccessNodeId)>& sums_products);

}  // namespace stitch
