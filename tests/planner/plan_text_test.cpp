// The text form of a plan: what is printed parses back to the same text.
#include "planner/plan/plan_text.h"

#include "graph/error.h"
#include "graph/graph_fingerprint.h"
#include "planned.h"
#include "support/catch.h"

using namespace stitch;

namespace {

void check_round_trip(const std::string& graph_text, PlanOptions options = {}) {
  const auto planned = plan_text_graph(graph_text, options);
  REQUIRE(planned->problems().empty());
  const std::string text = print_plan(planned->plan);
  const Plan again = parse_plan(text, planned->graph);
  CHECK(print_plan(again) == text);
  CHECK(plan_problems(again).empty());
}

const char* const kGatherAndPad = R"(graph "rows" {
  input %0 "table" : f32[100,64]
  input %1 "ids" : i64[20]
  %2 = gather(%0, %1) {axis=0} : f32[20,64]
  %3 = constant {f32[] 0.5} : f32[]
  %4 = pad(%2, %3) {low=[1,0], high=[3,0], mode=constant} : f32[24,64]
  %5 = exp(%4) : f32[24,64]
  output "y" %5
})";

}  // namespace

TEST_CASE("plans of reductions round-trip as text") {
  check_round_trip(softmax_graph(256, 1024));
  check_round_trip(softmax_graph(4, 131072));  // barriers and a twin
}

TEST_CASE("plans with guards, gathered indices and fills round-trip as text") {
  check_round_trip(kGatherAndPad);
}

TEST_CASE("plans of contractions round-trip as text") {
  const std::string graph = R"(graph "product" {
  input %0 "a" : f32[12,200,64]
  input %1 "b" : f32[12,64,300]
  %2 = matmul(%0, %1) : f32[12,200,300]
  output "c" %2
})";
  check_round_trip(graph);
  PlanOptions own;
  own.contractions = ContractionMode::kOwn;
  check_round_trip(graph, own);
}

TEST_CASE("a text that is no plan is refused with its place") {
  const Graph graph = parse_graph(softmax_graph(4, 8));
  CHECK_THROWS_AS(parse_plan("kernel", graph), ModelError);
  const std::string head =
      "plan \"a100\" \"sm_80\" regions 1 arena 0 graph " + fingerprint_text(graph) + "\n";
  CHECK_THROWS_WITH(parse_plan(head + "atom b0 4 \"\"", graph),
                    Catch::Contains("2:6") && Catch::Contains("begins with a"));
  CHECK_THROWS_WITH(
      parse_plan(
          head + "inputs []\nkernel \"k\" block 32 min_blocks 0 shared 0 counters 0 sources [s7]",
          graph),
      Catch::Contains("fewer sources"));
}
