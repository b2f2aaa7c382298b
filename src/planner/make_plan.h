// Graph to plan: which kernels, with which stages, groups, mappings and places, in which order.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "planner/device/device_model.h"
#include "planner/fusion/fusion_mode.h"
#include "planner/fusion/plan_decisions.h"
#include "planner/plan/plan.h"
#include "planner/plan/technique.h"

namespace stitch {

enum class ContractionMode : uint8_t {
  kLibrary,  // matrix products by cuBLASLt, convolutions by own kernels
  kOwn,      // all by own kernels
};

struct PlanOptions {
  std::string device;        // "a100"; empty: the default of the architecture
  std::string architecture;  // "sm_80"; empty: that of the device
  // In place of the shipped model of that device: one with calibrated figures.
  std::optional<DeviceModel> device_model = std::nullopt;
  FusionMode fusion = FusionMode::kStitch;
  ContractionMode contractions = ContractionMode::kLibrary;
  // Regions that may be stitched, the others get a kernel per node; bisects a wrong fusion.
  int64_t max_fusions = INT64_MAX;
  // Not empty: only regions that hold one of these nodes are stitched; the others get a kernel per
  // node, which no other joins, and the mode is kept. Ids of the access graph, which are the same
  // for equal other options.
  std::vector<AccessNodeId> only_regions_of;
  // Mode stitch: take the plan of another start or mode where that one is predicted to be faster.
  bool best_of_modes = true;
  Techniques techniques;
};

// Sum over the kernels of their predicted times, microseconds; library calls are not predicted.
double predicted_us(const Plan& plan);

// All dims of the graph must be constant. The plan refers to the graph, which must outlive
// it. ModelError for an unknown device and for ops that no kernel is known for.
Plan make_plan(const Graph& graph, const PlanOptions& options);

// The same, with what it decided.
struct DecidedPlan {
  Plan plan;
  PlanDecisions decisions;
};
DecidedPlan make_decided_plan(const Graph& graph, const PlanOptions& options);

// The plan that decisions give in a graph of the same model at other extents: without search, and
// without other starts. Mappings, scopes and splits are those of the extents.
struct RebuiltPlan {
  Plan plan;
  int regions_anew = 0;  // that could not be taken over, and are planned anew
};
RebuiltPlan rebuild_plan(const Graph& graph, const PlanOptions& options,
                         const PlanDecisions& decisions);

}  // namespace stitch
