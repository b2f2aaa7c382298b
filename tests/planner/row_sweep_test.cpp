// Sums over rows beside sums over columns: one kernel that loads each input once.
#include "planned.h"
#include "planner/plan/plan_text.h"
#include "support/catch.h"

using namespace stitch;

TEST_CASE("the gradients of a layer norm are one kernel whose blocks sweep over the rows") {
  const auto planned = plan_text_graph(norm_gradient_graph(8192, 1024));
  REQUIRE(planned->plan.steps.size() == 1);
  CHECK(planned->problems().empty());
  const Kernel& kernel = *planned->kernels()[0];
  const std::vector<Stage>& stages = kernel.parts.at(0).stages;
  REQUIRE(stages.size() == 2);
  CHECK(stages[0].mapping.kind == MappingKind::kRow);
  CHECK(stages[0].mapping.grid_x * stages[0].mapping.grid_y == 108);
  CHECK(roots_of(stages[0], RootKind::kReduce).size() == 2);
  CHECK(roots_of(stages[0], RootKind::kReduceRows).size() == 2);
  CHECK(stages[1].before == Separation::kGridBarrier);
  CHECK(stages[1].mapping.kind == MappingKind::kColumn);
  CHECK(kernel.cooperative);
  CHECK_FALSE(kernel.twin.empty());
  const int64_t inputs_and_output = 3LL * 8192 * 1024 * 4 + 8192 * 4 + 3 * 1024 * 4;
  CHECK(kernel.bytes.compulsory == inputs_and_output);
  CHECK(static_cast<double>(kernel.bytes.bytes) <= 1.02 * static_cast<double>(inputs_and_output));
}

TEST_CASE("few sums over rows are joined by the block that arrives last") {
  const auto planned = plan_text_graph(norm_gradient_graph(256, 64));
  REQUIRE(planned->plan.steps.size() == 1);
  CHECK(planned->problems().empty());
  const Kernel& kernel = *planned->kernels()[0];
  const std::vector<Stage>& stages = kernel.parts.at(0).stages;
  REQUIRE(stages.size() == 2);
  CHECK(roots_of(stages[0], RootKind::kReduceRows).size() == 2);
  CHECK(stages[1].before == Separation::kTicket);
  CHECK(stages[1].whole_grid);
  CHECK_FALSE(kernel.cooperative);
}

TEST_CASE("a plan with a sweep prints, parses back and is refused when it reduces other rows") {
  const auto planned = plan_text_graph(norm_gradient_graph(1000, 256));
  const std::string text = print_plan(planned->plan);
  CHECK(print_plan(parse_plan(text, planned->graph)) == text);
  Plan broken = parse_plan(text, planned->graph);
  for (Step& step : broken.steps) {
    Stage& stage = std::get<Kernel>(step).parts.at(0).stages.at(0);
    stage.mapping.rows.clear();
  }
  CHECK_FALSE(plan_problems(broken).empty());
}
