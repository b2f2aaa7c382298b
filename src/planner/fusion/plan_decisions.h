// What a plan decided, in names that hold for its model at other extents too: which nodes share a
// kernel, which kernels a launch, which contractions are library calls.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "planner/fusion/fusion_mode.h"
#include "planner/fusion/step_order.h"
#include "planner/fusion/work_items.h"
#include "planner/kernel/kernel_cut.h"
#include "planner/plan/technique.h"

namespace stitch {

// "add /encoder/Add 0": op, ONNX node, ordinal (NodeOrigin).
using NodeName = std::string;
NodeName name_of_origin(const AccessGraph& graph, const AccessNode& node);
// By node; each once. Inserted copies are named after what they copy.
std::vector<NodeName> node_names(const AccessGraph& graph);

struct DecidedValue {
  NodeName node;
  int result = 0;
};

struct DecidedKernel {
  std::vector<NodeName> nodes;
  std::vector<DecidedValue> stored;
  KernelRequest how;  // its nodes and values are empty
  int launch = 0;     // kernels of equal number share a launch
};

struct PlanDecisions {
  FusionMode fusion = FusionMode::kStitch;  // the start that won
  Techniques techniques;
  std::map<NodeName, bool> library;    // of each contraction: a library call
  std::vector<DecidedKernel> kernels;  // in launch order
};

// Equal for plans that decided the same.
std::string decisions_text(const PlanDecisions& decisions);

// The kernels of steps that are merged, but not yet packed; launches are numbered by step.
std::vector<DecidedKernel> decided_kernels(const AccessGraph& graph,
                                           std::span<const PlannedStep> steps);
// Numbers the launches anew by the steps that packing left.
void number_launches(const Plan& plan, std::span<const PlannedStep> packed,
                     std::vector<DecidedKernel>& kernels);

// Decisions in a graph of the same model at other extents.
struct DecidedItems {
  struct Item {
    KernelRequest request;
    int launch = 0;
  };
  std::vector<Item> kernels;
  std::vector<WorkItem> others;  // contractions, and regions that have to be planned anew
  int regions_anew = 0;          // whose nodes are others there, or depend on each other otherwise
};
// `items`: those of mode stitch.
DecidedItems apply_decisions(const AccessGraph& graph, const ContractionChoices& choices,
                             const std::vector<WorkItem>& items, const PlanDecisions& decisions);

}  // namespace stitch
