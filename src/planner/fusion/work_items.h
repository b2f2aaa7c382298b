// What is planned together: the sets of nodes of a mode, and the contractions between them, each
// with the values that others need.
#pragma once
#include <unordered_map>
#include <vector>

#include "planner/absorb/absorb.h"
#include "planner/device/device_model.h"
#include "planner/fusion/fusion_mode.h"
#include "planner/kernel/kernel_cut.h"

namespace stitch {

struct WorkItem {
  KernelRequest request;
  bool stitched = true;      // a region: it may take in the contraction that heads it
  bool stays_alone = false;  // no other kernel may join its own
  AccessNodeId contraction;  // not none: an own kernel of tiles, with its epilogue
};

struct WorkItemOptions {
  FusionMode fusion = FusionMode::kStitch;
  const DeviceModel* device = nullptr;
  int64_t max_fusions = INT64_MAX;            // regions beyond get a kernel per node
  std::vector<AccessNodeId> only_regions_of;  // PlanOptions
  Techniques techniques;                      // PlanOptions
};

using ContractionChoices = std::unordered_map<AccessNodeId, ContractionChoice>;

// In launch order, except in mode xla, whose items share nodes: their steps are ordered later.
// Depths are set (set_depths). InternalError when items wait for each other.
std::vector<WorkItem> find_work_items(const AccessGraph& graph, const ContractionChoices& choices,
                                      const WorkItemOptions& options);

}  // namespace stitch
