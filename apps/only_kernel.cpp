#include "only_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "frontend/name_suggestion.h"
#include "graph/error.h"
#include "planner/report/kernel_facts.h"

namespace stitch {

namespace {

const Kernel& find_kernel(const Plan& plan, const std::string& wanted) {
  const bool is_number =
      !wanted.empty() && wanted.size() < 7 &&
      std::all_of(wanted.begin(), wanted.end(), [](char c) { return c >= '0' && c <= '9'; });
  const std::string name = is_number ? fmt::format("k{:02}", std::stoi(wanted)) : wanted;
  std::vector<std::string> names;
  for (const Step& step : plan.steps) {
    const Kernel* const kernel = std::get_if<Kernel>(&step);
    if (kernel == nullptr) continue;
    if (kernel->name == name || kernel->name.starts_with(name + "_")) return *kernel;
    names.push_back(kernel->name);
  }
  std::string message = fmt::format("--only-kernel {}: the plan for {} has no such kernel", wanted,
                                    plan.architecture);
  if (const auto near = nearest_name(wanted, names))
    message += fmt::format("\nhelp: did you mean '{}'?", *near);
  else
    message += "\nhelp: stitchc plan MODEL --text shows the kernels";
  throw ModelError(message);
}

bool has_kernels_of(const Plan& a, const Plan& b) {
  return std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(),
                    [](const Step& left, const Step& right) {
                      const Kernel* const one = std::get_if<Kernel>(&left);
                      const Kernel* const other = std::get_if<Kernel>(&right);
                      if (one == nullptr || other == nullptr) return one == other;
                      return one->name == other->name && one->block == other->block &&
                             one->parts.size() == other->parts.size() &&
                             one->bytes.bytes == other->bytes.bytes;
                    });
}

// The best of the modes may be another one than was asked for, and regions are those of a mode.
FusionMode mode_of(const Plan& whole, const Graph& graph, PlanOptions options) {
  const FusionMode asked_for = options.fusion;
  options.best_of_modes = false;
  for (const FusionMode mode :
       {asked_for, FusionMode::kAStitch, FusionMode::kFusionStitching, FusionMode::kXla}) {
    options.fusion = mode;
    if (has_kernels_of(make_plan(graph, options), whole)) return mode;
  }
  return asked_for;
}

size_t node_count(const Kernel& kernel) {
  size_t count = 0;
  for (const Part& part : kernel.parts)
    for (const Stage& stage : part.stages)
      for (const Group& group : stage.groups) count += group.nodes.size();
  return count;
}

// The nodes whose results it leaves in memory, in the numbers that all plans of the graph share.
std::vector<AccessNodeId> storing_nodes(const Plan& plan, const Kernel& kernel) {
  std::vector<AccessNodeId> nodes;
  for (const Part& part : kernel.parts)
    for (const Stage& stage : part.stages)
      for (const Group& group : stage.groups)
        for (const Root& root : group.roots) {
          if (root.kind != RootKind::kStore) continue;
          const AccessValueId stored = plan.buffers[root.buffer.index].value;
          const AccessNodeId producer = plan.graph.value(stored).producer;
          if (producer.valid()) nodes.push_back(producer);
        }
  return nodes;
}

}  // namespace

Plan plan_only_kernel(const Graph& graph, const PlanOptions& options, const std::string& kernel) {
  const Plan whole = make_plan(graph, options);
  PlanOptions only = options;
  only.fusion = mode_of(whole, graph, options);
  only.best_of_modes = false;
  const Kernel& found = find_kernel(whole, kernel);
  if (holds_contraction(found) && node_count(found) == 1)
    throw ModelError(fmt::format(
        "--only-kernel {}: {} is a contraction, in which nothing is stitched", kernel, found.name));
  only.only_regions_of = storing_nodes(whole, found);
  return make_plan(graph, only);
}

}  // namespace stitch
