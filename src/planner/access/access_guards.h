// Guards of a piece as a conjunction: canonical, without those that ranges prove.
#pragma once
#include <vector>

#include "planner/access/access_graph.h"

namespace stitch {

// Adds `guard` to the conjunction. False when it can never hold; nothing is added when it always
// does. Constants and common factors go into the bounds: 2*x - 4 in [0,6) becomes x in [2,5).
bool require(IndexPool& pool, std::vector<Guard>& guards, Guard guard);

}  // namespace stitch
