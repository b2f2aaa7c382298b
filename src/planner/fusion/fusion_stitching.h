// Mode `fusionstitching`: the fusion explorer of FusionStitching (arXiv 2009.10924, section 5).
// Per node up to three patterns that begin with it, found from its consumers' patterns by dividing
// the consumers in halves (PatternReduction); a score from what a pattern saves (delta evaluator);
// and a beam search of width three for disjoint patterns, whose ends the latency evaluator
// compares. Kernels have thread, warp and block scope only; patterns that no block can own are cut
// by the kernel builder. Remote patterns are those that packing finds (packing.h).
#pragma once
#include <vector>

#include "planner/access/access_graph.h"
#include "planner/device/device_model.h"

namespace stitch {

// Disjoint sets that cover a region, each topological; together they wait for each other in no
// cycle.
using FusionPatterns = std::vector<std::vector<AccessNodeId>>;

// The ends of the beam search, those with the highest score first; at least one. `needed`: by
// value, whether anything outside of the region reads it.
std::vector<FusionPatterns> find_fusion_patterns(const AccessGraph& graph,
                                                 const std::vector<AccessNodeId>& region,
                                                 const std::vector<bool>& needed,
                                                 const DeviceModel& device);

}  // namespace stitch
