// Counts of a plan in words and numbers.
#include "plan_counts.h"

#include "graph/text_form.h"
#include "planner/make_plan.h"
#include "support/catch.h"

namespace stitch {

namespace {

// Heads side by side: the batch of the product has two strides, so it takes a call for each index
// of the outer dim.
constexpr const char* kHeads = R"(graph "heads" {
  input %0 "q" : f32[2,512,12,64]
  input %1 "k" : f32[2,512,12,64]
  %2 = transpose(%0) {perm=[0,2,1,3]} : f32[2,12,512,64]
  %3 = transpose(%1) {perm=[0,2,3,1]} : f32[2,12,64,512]
  %4 = matmul(%2, %3) : f32[2,12,512,512]
  output "scores" %4
}
)";

}  // namespace

TEST_CASE("a product that takes several calls is one contraction") {
  const Graph graph = parse_graph(kHeads);
  const PlanCounts library = count_plan(make_plan(graph, {}));
  CHECK(library.contractions == 1);
  CHECK(library.contraction_calls == 2);
  PlanOptions own;
  own.contractions = ContractionMode::kOwn;
  const PlanCounts kernels = count_plan(make_plan(graph, own));
  CHECK(kernels.contractions == 1);
  CHECK(kernels.contraction_calls == 1);
}

TEST_CASE("calls are named only where they differ from the contractions") {
  CHECK(contractions_text(1, 1) == "1 contraction");
  CHECK(contractions_text(17, 17) == "17 contractions");
  CHECK(contractions_text(17, 1900) == "17 contractions in 1,900 calls");
}

}  // namespace stitch
