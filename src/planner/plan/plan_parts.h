// Whether a value or a node that a plan's text gives fits together by itself: what the planner's
// own never fail, and what others rely on without asking.
#pragma once
#include <string>

#include "planner/access/access_graph.h"

namespace stitch {

// One lower-case clause; empty where nothing is wrong.
std::string value_problem(const AccessGraph& graph, const AccessValue& value);
// `id` is what the node will be; its results are in the graph already.
std::string node_problem(const AccessGraph& graph, AccessNodeId id, const AccessNode& node);

}  // namespace stitch
