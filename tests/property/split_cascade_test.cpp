// Sums that follow another reduce where several blocks share a row: each has a cascade of its own
// over its part, and the parts are joined by the cascade's rule, at a ticket or where the blocks
// meet. Against the evaluation in f64, with all rows that are hard to join: parts of -inf, a NaN or
// an infinity in one part, means of the parts that lie far apart.
#include "cascade_rows.h"
#include "support/catch.h"

using namespace stitch;
using namespace stitch::test;

namespace {

int64_t parts_of_a_row(const Kernel& kernel) { return kernel.parts.at(0).stages[0].mapping.grid_y; }

// One launch; blocks meet once at most, and only where later columns need a result.
void check_form(const BatchCase& made, const CascadeGraph& graph) {
  REQUIRE(made.plan.steps.size() == 1);
  const Kernel& kernel = std::get<Kernel>(made.plan.steps[0]);
  CHECK(parts_of_a_row(kernel) > 1);
  REQUIRE(kernel.parts.at(0).stages.size() == 2);
  CHECK(kernel.parts[0].stages[1].before ==
        (graph.waits ? Separation::kRowBarrier : Separation::kTicket));
}

std::vector<std::unique_ptr<BatchCase>> cases_of(const std::vector<CascadeGraph>& graphs,
                                                 const Tensor& x, bool transposed,
                                                 const std::string& device) {
  std::vector<std::unique_ptr<BatchCase>> cases;
  for (const CascadeGraph& graph : graphs) {
    INFO(graph.title);
    cases.push_back(cascade_case(graph, x, transposed, device));
    REQUIRE(cases.back() != nullptr);
  }
  return cases;
}

// Parts that stay on chip: read once from memory, or what is stored is too.
void check_kept(DType dtype, int64_t columns) {
  const Tensor x = hostile_rows(dtype, kRowKinds, columns, false);
  const std::vector<CascadeGraph>& graphs = cascade_graphs();
  const auto cases = cases_of(graphs, x, false, "a100");
  for (size_t i = 0; i < graphs.size(); ++i) {
    INFO(graphs[i].title);
    check_form(*cases[i], graphs[i]);
    const Kernel& kernel = std::get<Kernel>(cases[i]->plan.steps[0]);
    CHECK(followers(kernel) == 0);
    CHECK(kernel.bytes.bytes * 100 < kernel.bytes.compulsory * 102);
  }
  check_cases(cases);
}

std::vector<CascadeGraph> graphs_that(bool wait) {
  std::vector<CascadeGraph> graphs;
  for (const CascadeGraph& graph : cascade_graphs()) {
    if (graph.waits == wait) graphs.push_back(graph);
  }
  return graphs;
}

}  // namespace

TEST_CASE("blocks that share a row join their maxima and sums, whatever the row holds") {
  check_kept(DType::kF32, 60000);
}

TEST_CASE("parts of a row in half precision are joined in f32") {
  // A sum of squares of these rows is beyond f16, and a softmax of them below its normal numbers.
  std::vector<CascadeGraph> graphs = graphs_that(false);
  std::erase_if(graphs, [](const CascadeGraph& graph) {
    return std::string_view(graph.title) == "variance";
  });
  const Tensor x = hostile_rows(DType::kF16, kRowKinds, 60000, false);
  const auto cases = cases_of(graphs, x, false, "a100");
  for (size_t i = 0; i < graphs.size(); ++i) check_form(*cases[i], graphs[i]);
  check_cases(cases);
}

TEST_CASE("parts of a row of which the last is shorter are joined") {
  check_kept(DType::kF32, 60001);
}

TEST_CASE("more parts than a thread joins are joined by a block") {
  check_kept(DType::kF32, 73440);
}

TEST_CASE("parts of a single row that is no whole number of vectors are joined") {
  const Tensor x = hostile_rows(DType::kF32, 1, 131073, false);
  const auto cases = cases_of(cascade_graphs(), x, false, "a100");
  for (size_t i = 0; i < cases.size(); ++i) check_form(*cases[i], cascade_graphs()[i]);
  check_cases(cases);
}

TEST_CASE("parts of long columns are joined, whatever they hold") {
  const std::vector<CascadeGraph> graphs = graphs_that(false);
  const Tensor x = hostile_rows(DType::kF32, 2 * kRowKinds, 20001, true);
  const auto cases = cases_of(graphs, x, true, "a100");
  for (size_t i = 0; i < cases.size(); ++i) check_form(*cases[i], graphs[i]);
  check_cases(cases);
}

TEST_CASE(
    "parts that do not stay on chip are reduced in one pass and read again for what follows") {
  const std::vector<CascadeGraph> graphs = graphs_that(true);
  const Tensor x = hostile_rows(DType::kF32, 5, 345001, false);
  const auto cases = cases_of(graphs, x, false, "t4");
  for (size_t i = 0; i < graphs.size(); ++i) {
    INFO(graphs[i].title);
    check_form(*cases[i], graphs[i]);
    const Kernel& kernel = std::get<Kernel>(cases[i]->plan.steps[0]);
    CHECK(followers(kernel) == graphs[i].cascades);
    CHECK(kernel.bytes.bytes * 100 < kernel.bytes.compulsory * 152);
  }
  check_cases(cases);
}

TEST_CASE("parts that do not stay on chip are read once where nothing waits") {
  std::vector<CascadeGraph> graphs = graphs_that(false);
  std::erase_if(graphs, [](const CascadeGraph& graph) { return graph.cascades > 1; });
  const Tensor x = hostile_rows(DType::kF32, kRowKinds, 550001, false);
  const auto cases = cases_of(graphs, x, false, "t4");
  for (size_t i = 0; i < graphs.size(); ++i) {
    INFO(graphs[i].title);
    check_form(*cases[i], graphs[i]);
    const Kernel& kernel = std::get<Kernel>(cases[i]->plan.steps[0]);
    CHECK(followers(kernel) == 1);
    CHECK(kernel.bytes.bytes * 100 < kernel.bytes.compulsory * 102);
  }
  check_cases(cases);
}
