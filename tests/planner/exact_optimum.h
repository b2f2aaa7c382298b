// The best of all plans of a small graph: dynamic programming over sets of nodes that are closed
// under producers, each step adding the nodes of one launch.
//
// It covers every partition of the nodes into launches. What it does not cover is a node that two
// launches compute again.
#pragma once
#include <vector>

#include "planner/access/access_graph.h"
#include "planner/device/device_model.h"

namespace stitch {

struct ExactOptimum {
  double us = 0;
  std::vector<std::vector<AccessNodeId>> launches;  // in order
  int64_t sets = 0;                                 // of nodes that were built
};

// Graphs without contractions of at most 16 arithmetic nodes; InternalError for larger ones.
ExactOptimum exact_optimum(const AccessGraph& graph, const DeviceModel& device);

}  // namespace stitch
