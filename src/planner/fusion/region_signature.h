// A number that regions of equal structure share: time steps, layers. What was found for one holds
// for the others.
#pragma once
#include <cstdint>

#include "planner/fusion/region_partition.h"

namespace stitch {

// From ops, edges, dtypes, what is stored, and extents to a factor of two. Different regions may
// have equal signatures: a partition that is taken over is legal whenever the edges are equal, and
// has to be compared with what it replaces.
uint64_t signature_of(const AccessGraph& graph, const RegionNodes& region);

}  // namespace stitch
