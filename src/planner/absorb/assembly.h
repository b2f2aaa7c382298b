// Values that are put together from many others (the steps of an unrolled recurrence): each part is
// computed right where it belongs, so that nothing is copied.
#pragma once
#include <vector>

#include "planner/access/access_graph.h"

namespace stitch {

// A value that lies inside of another one, element i at first + sum(i[d] * strides[d]).
struct PartInside {
  AccessValueId part;
  AccessValueId whole;
  int64_t first = 0;  // the element of `whole` where `part` begins
};

// Copy nodes of more than kMostPieces pieces, and those that join the results of such nodes, become
// AccessKind::kAssembly where every piece is the whole of a value that a node computes, that is no
// output, and that can lie in the result; its strides become those there. Wholes come before parts.
//
//   h[101,1,256] = concat of h_0[1,256] ... h_100[1,256]   =>   h_t begins at element t*256 of h
std::vector<PartInside> assemble_in_place(AccessGraph& graph);

}  // namespace stitch
