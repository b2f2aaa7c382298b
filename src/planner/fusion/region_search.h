// The search of mode stitch inside of a region (stitching.md 6b): which of its nodes are launched
// together, where one kernel is not the best.
//
// Starts: the region as one, every node alone, and the patterns of FusionStitching's explorer. From
// each, parts are joined, split and repeated and nodes change parts, as long as the latency
// evaluator says that this helps; the best end is taken.
#pragma once
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "planner/fusion/kernel_trials.h"
#include "planner/fusion/region_partition.h"

namespace stitch {

// Whether the kernels of a region may be slower than others. One kernel is not when two of them,
// one after the other, could not be faster with all of the bandwidth.
bool may_be_beaten(std::span<const PlannedStep> steps, const DeviceModel& device);

class RegionSearch {
 public:
  // What all searches together may cost is proportional to the nodes of the graph.
  RegionSearch(const AccessGraph& graph, const DeviceModel& device);

  // What to ask the builder for instead of `whole`, in launch order; `whole` itself where nothing
  // is predicted to be better. Regions of equal structure are searched once.
  std::vector<KernelRequest> run(const KernelRequest& whole);

 private:
  KernelTrials trials_;
  int64_t left_;                                         // nodes that may still be built on trial
  std::unordered_map<uint64_t, RegionPartition> known_;  // by signature
};

}  // namespace stitch
