// The search against the best of all plans (exact_optimum.h).
#include <algorithm>

#include "planner/exact_optimum.h"
#include "planner/make_plan.h"
#include "planner/workload_graph.h"
#include "support/catch.h"

using namespace stitch;

namespace {

constexpr size_t kMostNodes = 10;

// Of the time of the search's plan over the optimum's.
struct Ratios {
  int graphs = 0;
  double sum = 0;
  double worst = 0;
};

Ratios measure(const std::string& device_name, uint32_t first_seed, int graphs) {
  const DeviceModel& device = find_device(device_name, "");
  PlanOptions options;
  options.device = device_name;
  Ratios ratios;
  for (uint32_t seed = first_seed; ratios.graphs < graphs; ++seed) {
    const Graph graph = make_workload_graph(seed, 4 + static_cast<int>(seed % 7));
    const AccessGraph access = build_access_graph(graph);
    if (access.nodes.size() > kMostNodes || access.nodes.size() < 3) continue;
    const double ratio = predicted_us(make_plan(graph, options)) / exact_optimum(access, device).us;
    ++ratios.graphs;
    // Nodes that are computed twice are not in the optimum: it can be beaten.
    ratios.sum += std::max(ratio, 1.0);
    ratios.worst = std::max(ratios.worst, ratio);
  }
  return ratios;
}

}  // namespace

TEST_CASE("the plan of a small graph is within a tenth of the best partition, near it on average") {
  for (const std::string device : {"a100", "h100", "t4"}) {
    const Ratios ratios = measure(device, 1, 120);
    CAPTURE(device, ratios.worst, ratios.sum / ratios.graphs);
    CHECK(ratios.sum / ratios.graphs <= 1.005);
    CHECK(ratios.worst <= 1.10);
  }
}

TEST_CASE("the optimum of two reduces over different axes is one launch of two parts") {
  const auto graph = [](int64_t rows) {
    Graph made;
    const ValueType matrix{DType::kF32, {rows, 1024}};
    const ValueId x = made.add_input("x", matrix);
    ReduceAttributes over_columns, over_rows;
    over_columns.axes = {1};
    over_rows.axes = {0};
    made.add_output("rows", made.add(Op::k_reduce, {x}, over_columns));
    made.add_output("columns", made.add(Op::k_reduce, {x}, over_rows));
    return made;
  };
  const DeviceModel& a100 = find_device("a100", "");
  const Graph small = graph(128);
  const ExactOptimum optimum = exact_optimum(build_access_graph(small), a100);
  CHECK(optimum.launches.size() == 1);
  CHECK(optimum.sets == 3);
}
