// Every value between two steps has an edge with its reason, and kernels that could share a launch
// have the cost on both sides.
#include "planner/report/explain.h"

#include <algorithm>

#include "planned.h"
#include "support/catch.h"

using namespace stitch;

namespace {

std::vector<PlanEdge> edges_of(const Planned& planned) {
  return plan_edges(planned.plan, find_device(planned.plan.device, ""), "the mode joins no more");
}

// x + relu(x) w: the product lies between the two kernels that a residual joins.
const char* const kResidual = R"(graph "residual" {
  input %x "x" : f32[64,64]
  input %w "w" : f32[64,64]
  %1 = exp(%x) : f32[64,64]
  %2 = matmul(%1, %w) : f32[64,64]
  %3 = add(%1, %2) : f32[64,64]
  %4 = tanh(%3) : f32[64,64]
  output "y" %4
})";

}  // namespace

TEST_CASE("a kernel of its own has no edges") {
  CHECK(edges_of(*plan_text_graph(softmax_graph(256, 1024))).empty());
}

TEST_CASE("kernels of one node each have the mode as their reason and both costs") {
  PlanOptions options;
  options.fusion = FusionMode::kNone;
  const auto planned = plan_text_graph(softmax_graph(256, 1024), options);
  REQUIRE(planned->plan.steps.size() == 5);  // max, sub, exp, sum, div
  const std::vector<PlanEdge> edges = edges_of(*planned);
  REQUIRE(edges.size() == 5);  // exp is read twice
  for (const PlanEdge& edge : edges) {
    CHECK(edge.writer < edge.reader);
    CHECK(edge.reason == "the mode joins no more");
    REQUIRE(edge.cost.size() == 1);
    CHECK(edge.cost[0].apart_us == Approx(planned->kernels()[edge.writer]->estimate.total_us +
                                          planned->kernels()[edge.reader]->estimate.total_us));
    CHECK(edge.cost[0].stitched_us > 0);
  }
}

TEST_CASE("a contraction between two kernels is named as what keeps them apart") {
  const auto planned = plan_text_graph(kResidual);
  REQUIRE(planned->plan.steps.size() == 3);
  const std::vector<PlanEdge> edges = edges_of(*planned);
  REQUIRE(edges.size() == 3);
  const auto residual = std::find_if(edges.begin(), edges.end(), [](const PlanEdge& edge) {
    return edge.writer == 0 && edge.reader == 2;
  });
  REQUIRE(residual != edges.end());
  CHECK(residual->reason.find("the library call of") == 0);
  CHECK(residual->reason.find("lies between them") != std::string::npos);
  CHECK(residual->cost.empty());
}

TEST_CASE("a region that was cut says with the builder's words why") {
  // Two reductions of different axes: no block owns both.
  const auto planned = plan_text_graph(R"(graph "two" {
  input %0 "x" : f32[2048,2048]
  %1 = reduce(%0) {kind=sum, axes=[1]} : f32[2048]
  %2 = broadcast(%1) {axes=[0]} : f32[2048,2048]
  %3 = div(%0, %2) : f32[2048,2048]
  %4 = reduce(%3) {kind=max, axes=[0]} : f32[2048]
  output "y" %4
})");
  const std::vector<PlanEdge> edges = edges_of(*planned);
  for (const PlanEdge& edge : edges) {
    CHECK(edge.reason != "the mode joins no more");
    CHECK(edge.reason == planned->kernels()[edge.reader]->why_not_larger);
  }
  CHECK(edges.size() + 1 == planned->plan.steps.size());
}

TEST_CASE("every buffer between steps is on an edge for each of its readers") {
  PlanOptions options;
  options.fusion = FusionMode::kNone;
  const auto planned = plan_text_graph(norm_gradient_graph(64, 128), options);
  std::vector<std::string> on_edges;
  for (const PlanEdge& edge : edges_of(*planned)) on_edges.push_back(edge.value);
  int between = 0;
  for (const Buffer& buffer : planned->plan.buffers) {
    if (buffer.kind != BufferKind::kArena) continue;
    ++between;
    const std::string& name = planned->plan.graph.value(buffer.value).name;
    CHECK(std::find(on_edges.begin(), on_edges.end(), name.empty() ? buffer.name : name) !=
          on_edges.end());
  }
  CHECK(between > 5);
}
