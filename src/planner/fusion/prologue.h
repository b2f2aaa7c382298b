// Prologues: cheap element-wise nodes that an own contraction kernel computes on its operands while
// it loads them (stitching.md 8).
#pragma once
#include "planner/fusion/epilogue.h"

namespace stitch {

// Marks nodes as computed with a contraction (AccessNode::computed_with). Depths are set, epilogues
// are taken. A node goes along when
// - it is light and element-wise, nothing but this contraction reads it, and the contraction reads
//   it nowhere twice (a window of one point), or all before it is one or two operations;
// - what it reads is in memory anyway, or is small; of values of its own size it reads one, so that
//   a block loads no more than before.
// No kernel waits for another because of that: the contraction waits for what the node waited for.
//
//   y = x * gate (per channel); c = conv 1x1(y, w)  =>  c reads x and gate, y is stored nowhere
void take_prologues(AccessGraph& graph, const EpilogueOptions& options);

}  // namespace stitch
