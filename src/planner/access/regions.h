// Regions by contraction depth: the largest sets of nodes that can always be one kernel
// (stitching.md 6b).
//
// The depth of a node is the number of contractions on the longest path to it. A region is a
// connected set of nodes that are no contractions, of equal depth: no path leaves it and comes
// back, since each contraction on such a path would add one to the depth. So no cycle test is
// needed.
#pragma once
#include <vector>

#include "planner/access/access_graph.h"

namespace stitch {

struct Region {
  int depth = 0;
  std::vector<AccessNodeId> nodes;  // in topological order
};

// Sets AccessNode::depth of every node, in one walk.
void set_depths(AccessGraph& graph);

// Moves element-wise nodes to the depth of their only reader where everything that they read is in
// memory anyway: computed where it is read, the result itself needs no memory and no kernel.
//
//   y = matmul(x, w) depth 0;  b = add(slice(y), bias) depth 1;  add(b, step 50) depth 50
//   =>  b has depth 50: the kernel of step 50 reads the slice of y
void sink_to_readers(AccessGraph& graph);

// Regions ordered by their first node. Two nodes are connected when one reads the other; sharing
// an input does not connect.
std::vector<Region> depth_regions(const AccessGraph& graph);

// Regions of equal depth that read the same tensor of some size become one: together they may load
// it once. The argument about cycles holds for sets of equal depth, connected or not.
std::vector<Region> join_siblings(const AccessGraph& graph, const std::vector<Region>& regions);

}  // namespace stitch
