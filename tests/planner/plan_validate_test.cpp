// A plan that breaks a rule is rejected with a sentence.
#include "planner/check/plan_validate.h"

#include "graph/error.h"
#include "planned.h"
#include "support/catch.h"

using namespace stitch;

namespace {

Kernel& first_kernel(Planned& planned) { return std::get<Kernel>(planned.plan.steps.at(0)); }

bool has_problem(const Planned& planned, const std::string& what) {
  for (const std::string& problem : planned.problems()) {
    if (problem.find(what) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a value without a place is reported") {
  const auto planned = plan_text_graph(softmax_graph(256, 1024));
  REQUIRE(planned->problems().empty());
  Kernel& kernel = first_kernel(*planned);
  kernel.places.erase(kernel.places.begin());
  CHECK(has_problem(*planned, "is computed and has no place"));
  CHECK_THROWS_AS(validate_plan(planned->plan), InternalError);
}

TEST_CASE("a register array under two mappings is reported") {
  const auto planned = plan_text_graph(softmax_graph(256, 1024));
  first_kernel(*planned).parts[0].stages[0].groups[1].mapping.vector = 2;
  CHECK(has_problem(*planned, "is read under another mapping"));
}

TEST_CASE("shared memory that other threads read needs a barrier") {
  const auto planned = plan_text_graph(R"(graph "turn" {
  input %0 "x" : f32[4096,64]
  %1 = mul(%0, %0) : f32[4096,64]
  %2 = reduce(%1) {kind=sum, axes=[1]} : f32[4096]
  %3 = broadcast(%2) {axes=[0]} : f32[4096,64]
  %4 = div(%0, %3) : f32[4096,64]
  %5 = reverse(%4) {axes=[1]} : f32[4096,64]
  %6 = add(%4, %5) : f32[4096,64]
  output "y" %6
})");
  REQUIRE(planned->plan.steps.size() == 1);
  REQUIRE(planned->problems().empty());
  int barriers = 0;
  for (Group& group : first_kernel(*planned).parts[0].stages[0].groups) {
    barriers += group.block_barrier ? 1 : 0;
    group.block_barrier = false;
  }
  CHECK(barriers == 1);
  CHECK(has_problem(*planned, "is read without a barrier"));
}

TEST_CASE("limits of the device are kept") {
  const auto planned = plan_text_graph(softmax_graph(256, 1024));
  Kernel& kernel = first_kernel(*planned);
  kernel.shared_bytes = 200 * 1024;
  CHECK(has_problem(*planned, "bytes of shared memory"));
  kernel.shared_bytes = 0;
  kernel.parts[0].stages[0].mapping.grid_y = 70000;
  CHECK(has_problem(*planned, "70000 blocks along y"));
}

TEST_CASE("blocks that wait for each other must all be resident") {
  const auto planned = plan_text_graph(softmax_graph(65536, 1024));
  Kernel& kernel = first_kernel(*planned);
  REQUIRE(planned->problems().empty());
  kernel.cooperative = true;
  CHECK(has_problem(*planned, "blocks wait for each other"));
}

TEST_CASE("a store without a buffer and a reduce over other columns are reported") {
  const auto planned = plan_text_graph(softmax_graph(256, 1024));
  Stage& stage = first_kernel(*planned).parts[0].stages[0];
  stage.groups[2].roots[0].buffer = BufferId();
  CHECK(has_problem(*planned, "is stored nowhere"));
  stage.groups[0].mapping.columns.clear();
  CHECK(has_problem(*planned, "does not reduce exactly the group's columns"));
}
