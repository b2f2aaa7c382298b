// How far the plan of each fusion mode is from the best of all plans: random graphs of up to twelve
// nodes, every partition into launches covered (tests/planner/exact_optimum.h).
//
//   optimality [GRAPHS [FIRST_SEED [DEVICE]]] > optimality.md
//   optimality graph SEED      shows one graph, the optimum and the plan of the search
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "graph/passes.h"
#include "graph/text_form.h"
#include "planner/exact_optimum.h"
#include "planner/make_plan.h"
#include "planner/workload_graph.h"

namespace {

using namespace stitch;

constexpr size_t kMostNodes = 12;
constexpr size_t kWorst = 3;  // listed of each mode
constexpr double kOptimal = 1.0005;

struct Worst {
  double ratio = 0;
  uint32_t seed = 0;
  double us = 0, optimum_us = 0;
  std::string plan, optimum;
};

struct ModeResult {
  std::vector<double> ratios;
  std::vector<Worst> worst;  // worst first
};

std::string launches_text(const std::vector<std::vector<AccessNodeId>>& launches) {
  std::string text;
  for (const std::vector<AccessNodeId>& nodes : launches) {
    text += text.empty() ? "{" : " {";
    for (size_t i = 0; i < nodes.size(); ++i) {
      text += fmt::format("{}{}", i == 0 ? "" : " ", nodes[i].index);
    }
    text += "}";
  }
  return text;
}

std::string plan_text(const Plan& plan) {
  std::string text;
  for (const Step& step : plan.steps) {
    const Kernel& kernel = std::get<Kernel>(step);
    text += fmt::format("{}{}{} {:.2f}", text.empty() ? "" : ", ", kernel.name,
                        kernel.cooperative ? " (barriers)" : "", kernel.estimate.total_us);
  }
  return text;
}

void note(ModeResult& result, Worst found) {
  result.ratios.push_back(found.ratio);
  result.worst.push_back(std::move(found));
  std::stable_sort(result.worst.begin(), result.worst.end(),
                   [](const Worst& a, const Worst& b) { return a.ratio > b.ratio; });
  if (result.worst.size() > kWorst) result.worst.pop_back();
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

int nodes_of(uint32_t seed) { return 4 + static_cast<int>(seed % 9); }

void show(uint32_t seed, PlanOptions options) {
  const Graph graph = make_workload_graph(seed, nodes_of(seed));
  const AccessGraph access = build_access_graph(graph);
  const ExactOptimum optimum = exact_optimum(access, find_device(options.device, ""));
  options.best_of_modes = false;
  const Plan plan = make_plan(graph, options);
  fmt::print("{}\noptimum {:.2f} us: {}\nsearch {:.2f} us: {}\n", to_string(access), optimum.us,
             launches_text(optimum.launches), predicted_us(plan), plan_text(plan));
  for (const std::string& note : plan.notes) fmt::print("{}\n", note);
}

// Nodes that are computed twice are not in the optimum: it can be beaten.
std::vector<double> at_least_one(std::vector<double> ratios) {
  for (double& ratio : ratios) ratio = std::max(ratio, 1.0);
  return ratios;
}

}  // namespace

int main(int argc, char** argv) {
  PlanOptions options;
  options.device = argc > 3 ? argv[3] : "a100";
  if (argc > 2 && std::string(argv[1]) == "graph") {
    show(static_cast<uint32_t>(std::atoi(argv[2])), options);
    return 0;
  }
  const uint32_t graphs = argc > 1 ? static_cast<uint32_t>(std::atoi(argv[1])) : 300;
  const uint32_t first = argc > 2 ? static_cast<uint32_t>(std::atoi(argv[2])) : 1;
  const DeviceModel& device = find_device(options.device, "");
  std::array<ModeResult, kFusionModes.size() + 1> results;
  uint32_t planned = 0;
  int64_t sets = 0;
  for (uint32_t seed = first; planned < graphs; ++seed) {
    const Graph graph = make_workload_graph(seed, nodes_of(seed));
    const AccessGraph access = build_access_graph(graph);
    if (access.nodes.size() > kMostNodes || access.nodes.size() < 3) continue;
    const ExactOptimum optimum = exact_optimum(access, device);
    ++planned;
    sets += optimum.sets;
    for (size_t m = 0; m <= kFusionModes.size(); ++m) {
      options.fusion = m < kFusionModes.size() ? kFusionModes[m].mode : FusionMode::kStitch;
      options.best_of_modes = m < kFusionModes.size();
      const Plan plan = make_plan(graph, options);
      const double us = predicted_us(plan);
      note(results[m], {us / optimum.us, seed, us, optimum.us, plan_text(plan),
                        launches_text(optimum.launches)});
    }
  }
  fmt::print("{} random graphs of 3 to {} nodes, {} kernels built for the optimum, device {}\n\n",
             planned, kMostNodes, sets, device.name);
  fmt::print(
      "| mode | mean | mean, 1 at least | median | p95 | worst | optimal "
      "|\n|---|---|---|---|---|---|---|\n");
  const auto mode_name = [](size_t m) {
    return m < kFusionModes.size() ? std::string(kFusionModes[m].name) : "stitch, search alone";
  };
  for (size_t m = 0; m < results.size(); ++m) {
    std::vector<double> sorted = results[m].ratios;
    std::sort(sorted.begin(), sorted.end());
    const auto best =
        std::count_if(sorted.begin(), sorted.end(), [](double ratio) { return ratio < kOptimal; });
    fmt::print("| {} | {:.4f} | {:.4f} | {:.3f} | {:.3f} | {:.2f} | {:.1f} % |\n", mode_name(m),
               mean(sorted), mean(at_least_one(sorted)), sorted[sorted.size() / 2],
               sorted[sorted.size() * 95 / 100], sorted.back(),
               100.0 * static_cast<double>(best) / static_cast<double>(planned));
  }
  fmt::print("\nThe worst cases of each mode:\n\n");
  for (size_t m = 0; m < results.size(); ++m) {
    for (const Worst& worst : results[m].worst) {
      fmt::print("- {}: {:.3f}, seed {}: {:.2f} us ({}) against {:.2f} us, launches {}\n",
                 mode_name(m), worst.ratio, worst.seed, worst.us, worst.plan, worst.optimum_us,
                 worst.optimum);
    }
  }
  return 0;
}
