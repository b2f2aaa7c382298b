// Splits a sum that follows another reduce (structure/cascade.h) where that one is split too: every
// part follows the reduce of its own points, and terms that the cascade's rule carries from a part
// to the whole row join the parts.
//
//   shifted_exp       s = sum over c of exp(x[c] - m)
//     ->  q[p] = sum over i of exp(x[p,i] - m[p]),    s = sum over p of q[p] * exp(m[p] - m)
//   squared_distance  s = sum over c of (x[c] - mean)^2
//     ->  q[p] = sum over i of (x[p,i] - mean[p])^2,  s = sum over p of q[p] + n[p] * (mean[p] -
//     mean)^2
//
// (Milakov and Gimelshein, arXiv 1805.02867; Chan, Golub, LeVeque 1979)
#pragma once
#include <vector>

#include "planner/plan/plan.h"
#include "planner/structure/kernel_nodes.h"

namespace stitch {

struct FollowerSplit {
  AccessNodeId follower;
  Cascade cascade;            // of the two whole reduces
  AccessValueId leader_part;  // results of the reduce that is followed, per part
  std::vector<AtomId> parts;
  std::vector<Guard> guards;  // of a ragged split
};

// Returns the follower's results per part.
AccessValueId split_follower(KernelNodes& nodes, const FollowerSplit& split);

}  // namespace stitch
