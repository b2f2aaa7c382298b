// Sums that follow another reduce in one pass over rows that fit neither registers nor shared
// memory, on the emulated device against the evaluation in f64: rows of -inf, NaN, infinities,
// large offsets, equal numbers, a maximum at the end.
#include "cascade_rows.h"
#include "support/catch.h"

using namespace stitch;
using namespace stitch::test;

namespace {

void check(bool transposed, int64_t rows, int64_t columns) {
  const Tensor x = hostile_rows(DType::kF32, rows, columns, transposed);
  std::vector<std::unique_ptr<BatchCase>> cases;
  for (const CascadeGraph& graph : cascade_graphs()) {
    INFO(graph.title);
    // 40 multiprocessors: these rows are not split, and fit nowhere.
    cases.push_back(cascade_case(graph, x, transposed, "t4"));
    REQUIRE(cases.back() != nullptr);
    REQUIRE(cases.back()->plan.steps.size() == 1);
    CHECK(followers(std::get<Kernel>(cases.back()->plan.steps[0])) == graph.cascades);
  }
  check_cases(cases);
}

}  // namespace

TEST_CASE("long rows are reduced in one pass, whatever they hold") { check(false, 24, 41600); }

TEST_CASE("rows whose last vector is cut off are reduced in one pass") { check(false, 24, 41501); }

TEST_CASE("long columns are reduced in one pass, whatever they hold") { check(true, 1024, 2501); }
