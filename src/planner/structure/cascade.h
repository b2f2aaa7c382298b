// The cascade rule: a sum whose terms depend on an earlier reduce of the same points can run in the
// pass of that reduce, because what it has summed up so far can be carried along when the running
// result of the earlier one changes.
//
//   shifted_exp       sum f(x, m), m = max x, f(x, m') = f(x, m) * exp(m - m'): logsumexp, softmax,
//                     sums weighted by a softmax. Carried by a product; m only grows, so the factor
//                     is at most one. (Milakov and Gimelshein, arXiv 1805.02867)
//   squared_distance  sum (x - mean)^2, mean = (sum x) / n: variance. Carried by adding
//                     n * (mean - mean')^2. (Chan, Golub, LeVeque 1979)
//
// Both are read off the expression between the two reduces, node by node; names play no part.
// The exponentials may be shifted by m where it is finite, else by 0, as in a logsumexp that knows
// infinities. The parts of a split row are (kernel/split_cascade.h): one of -inf adds nothing.
#pragma once
#include "planner/plan/plan.h"

namespace stitch {

// How `follower` can follow `leader`, which it depends on; kNone: it cannot.
Cascade find_cascade(AccessGraph& graph, AccessNodeId follower, AccessNodeId leader);

// How many points a reduce adds up for each result: a constant, or over the parts of a row whose
// last part is shorter an expression. None where the guards are others than those of such parts.
ExprId existing_points(AccessGraph& graph, const AccessNode& reduce);

}  // namespace stitch
