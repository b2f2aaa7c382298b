#include "plan_comparison.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "console.h"
#include "plan_report.h"
#include "planner/fusion/fusion_mode.h"
#include "planner/make_plan.h"
#include "table.h"

namespace stitch {

namespace {

ComparedMode plan_in_mode(const Graph& graph, const CompileFlags& flags, std::string_view name) {
  CompileFlags in_mode = flags;
  in_mode.fusion = name;
  ComparedMode mode;
  mode.name = name;
  mode.is_chosen = name == flags.fusion;
  for (const std::string& architecture : flags.device_architectures()) {
    const auto start = std::chrono::steady_clock::now();
    const Plan plan = make_plan(graph, in_mode.plan_options(architecture));
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    if (mode.architectures.empty()) mode.plan_ms = time.count();
    mode.architectures.push_back({plan.architecture, plan.device, count_plan(plan)});
  }
  return mode;
}

const ComparedMode& chosen_mode(const PlanComparison& comparison) {
  for (const ComparedMode& mode : comparison.modes)
    if (mode.is_chosen) return mode;
  return comparison.modes.back();
}

}  // namespace

PlanComparison compare_modes(const Graph& graph, const CompileFlags& flags) {
  // A mode that does not exist is refused before anything is planned.
  flags.plan_options(flags.device_architectures().front());
  PlanComparison comparison;
  comparison.nodes = graph.onnx_node_count;
  for (const FusionModeName& mode : kFusionModes)
    comparison.modes.push_back(plan_in_mode(graph, flags, mode.name));
  return comparison;
}

std::string comparison_table(const PlanComparison& comparison) {
  std::vector<TableColumn> columns = {
      {"mode", Align::kLeft}, {"kernels"}, {"contractions"}, {"copies"},
      {"barriers"},           {"bytes"},   {"vs min"}};
  for (const ComparedArchitecture& planned : comparison.modes.front().architectures)
    columns.push_back({planned.device});
  Table table(std::move(columns));
  for (const ComparedMode& mode : comparison.modes) {
    const PlanCounts& counts = mode.architectures.front().counts;
    std::vector<std::string> cells = {mode.name + (mode.is_chosen ? " (chosen)" : ""),
                                      with_thousands(counts.kernels),
                                      with_thousands(counts.contractions),
                                      with_thousands(counts.copies),
                                      with_thousands(counts.grid_barriers),
                                      readable_bytes(counts.bytes),
                                      bytes_ratio(counts)};
    for (const ComparedArchitecture& planned : mode.architectures)
      cells.push_back(fmt::format("{:.0f} us", planned.counts.predicted_us));
    table.add_row(std::move(cells));
  }
  const ComparedMode& chosen = chosen_mode(comparison);
  return fmt::format(
      "{}\n{} nodes, {} regions, planned in {:.1f} ms as {}; counts for {}; min: what the kernels "
      "of the mode must read and write once; times are predicted, contractions are not in them",
      table.to_string(), with_thousands(comparison.nodes),
      with_thousands(chosen.architectures.front().counts.regions), chosen.plan_ms, chosen.name,
      chosen.architectures.front().architecture);
}

std::string comparison_json(const PlanComparison& comparison) {
  nlohmann::ordered_json json;
  const ComparedMode& chosen = chosen_mode(comparison);
  json["nodes"] = comparison.nodes;
  json["regions"] = chosen.architectures.front().counts.regions;
  json["plan_ms"] = chosen.plan_ms;
  for (const ComparedMode& mode : comparison.modes) {
    nlohmann::ordered_json& entry = json["modes"][mode.name];
    add_counts(entry, mode.architectures.front().counts);
    entry["plan_ms"] = mode.plan_ms;
    for (const ComparedArchitecture& planned : mode.architectures)
      entry["predicted_us"][planned.architecture] = planned.counts.predicted_us;
  }
  return json.dump();
}

}  // namespace stitch
