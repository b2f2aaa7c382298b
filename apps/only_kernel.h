// The plan in which one kernel alone is stitched: what --only-kernel bisects a wrong result with.
#pragma once
#include <string>

#include "planner/make_plan.h"

namespace stitch {

// `kernel` of the whole plan of `options`: its name, the beginning "k05" of it, or its number. The
// regions that it was made from are stitched as there, all other nodes are a kernel each.
// ModelError with the nearest name for one that the whole plan does not have, and for a
// contraction.
Plan plan_only_kernel(const Graph& graph, const PlanOptions& options, const std::string& kernel);

}  // namespace stitch
