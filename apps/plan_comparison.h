// What every fusion mode makes of one graph, side by side: the table and the JSON of
// `stitchc plan --compare`.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compile_flags.h"
#include "graph/graph.h"
#include "plan_counts.h"

namespace stitch {

struct ComparedArchitecture {
  std::string architecture;  // "sm_80"
  std::string device;        // "a100"
  PlanCounts counts;
};

struct ComparedMode {
  std::string name;        // as --fusion takes it
  bool is_chosen = false;  // by --fusion
  double plan_ms = 0;      // for the first architecture
  std::vector<ComparedArchitecture> architectures;
};

struct PlanComparison {
  int64_t nodes = 0;  // of the ONNX model
  std::vector<ComparedMode> modes;
};

// Plans the graph in every mode for all architectures; the other flags hold for each.
PlanComparison compare_modes(const Graph& graph, const CompileFlags& flags);

// Counts are those of the first architecture, predicted times of each.
std::string comparison_table(const PlanComparison& comparison);
// {"nodes", "regions", "plan_ms", "modes": {"xla": {"kernels", ..., "predicted_us": {"sm_80"}}}};
// regions and plan_ms are those of the chosen mode.
std::string comparison_json(const PlanComparison& comparison);

}  // namespace stitch
