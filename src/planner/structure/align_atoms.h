// Gives a result the loop indices of the sums that read the same elements.
//
//   sum over a2 of x[a0,a2]^2;  y[a0,a4] = concat(f(x[a0,a4]), f(x[a0,a4 - 64]))   split and concat
//
// The graph does not say that a4 runs along a2, since the halves in between have an index of their
// own. As one atom both are columns of one row, which is kept instead of loaded again.
#pragma once
#include <span>

#include "planner/structure/kernel_nodes.h"

namespace stitch {

// An atom of a stored value is replaced by one that a reduce sums over where the value loads the
// reduce's elements at it, and no node has both.
void align_atoms(KernelNodes& nodes, std::span<const AccessValueId> stored);

}  // namespace stitch
