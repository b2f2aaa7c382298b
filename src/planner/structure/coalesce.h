// Merges axis atoms that always move together, so that indices stay linear and vectors long.
#pragma once
#include <span>

#include "planner/structure/kernel_nodes.h"

namespace stitch {

// [n,c,h,w] read and written in one piece becomes one atom; a scale per channel keeps c apart:
// n, c, h*w. `stored` are the values whose addresses count besides those of loads.
void coalesce_atoms(KernelNodes& nodes, std::span<const AccessValueId> stored);

}  // namespace stitch
