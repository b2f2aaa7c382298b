// Random graphs of nearly every primitive, in integers held by f64: whatever the order of sums, the
// stitched kernels give exactly what the evaluation gives.
#include <fmt/format.h>

#include "graph/evaluate.h"
#include "graph/text_form.h"
#include "plan_batch.h"
#include "planner/random_graph.h"
#include "support/catch.h"
#include "support/matches_tensor.h"

using namespace stitch;
using namespace stitch::test;

namespace {

constexpr int kSteps = 14;

std::unique_ptr<BatchCase> random_case(uint32_t seed, FusionMode fusion,
                                       Techniques techniques = {}) {
  RandomGraph random = make_random_graph(seed, kSteps);
  PlanOptions options;
  options.device = "a100";
  options.fusion = fusion;
  options.contractions = ContractionMode::kOwn;
  options.techniques = techniques;
  return plan_case({fmt::format("{}{}", fusion == FusionMode::kStitch ? "s" : "n", seed),
                    std::move(random.graph), std::move(random.inputs), options});
}

void check_exact(const BatchCase& done) {
  INFO(done.name << "\n" << print_graph(done.graph));
  CHECK(done.faults == std::vector<std::string>());
  const std::vector<Tensor> expected =
      evaluate(done.graph, done.inputs, EvaluationPrecision::kNative);
  for (size_t i = 0; i < done.outputs.size(); ++i) {
    INFO("output " << done.graph.outputs()[i].name);
    CHECK_THAT(done.outputs[i], matches_tensor(expected[i], {.relative_to_row = 0}));
  }
}

void check_seeds(uint32_t first, uint32_t count, FusionMode fusion) {
  std::vector<std::unique_ptr<BatchCase>> cases;
  for (uint32_t seed = first; seed < first + count; ++seed)
    if (auto made = random_case(seed, fusion)) cases.push_back(std::move(made));
  CHECK(cases.size() > count / 3);  // the others hold an op that has no kernel
  run_batch(cases, first);
  for (const auto& done : cases) check_exact(*done);
  CHECK(bytes_are_as_predicted(cases));
  check_requested_bytes(cases);
}

}  // namespace

TEST_CASE("stitched kernels of random graphs give exactly what the evaluation gives") {
  check_seeds(1, 600, FusionMode::kStitch);
}

TEST_CASE("kernels per node of random graphs give exactly what the evaluation gives") {
  check_seeds(1001, 60, FusionMode::kNone);
}

TEST_CASE("kernels that are made without a technique give exactly what the evaluation gives") {
  std::vector<std::unique_ptr<BatchCase>> cases;
  uint32_t seed = 2001;
  for (const TechniqueName& technique : kTechniques) {
    Techniques techniques;
    techniques.leave_out(technique.technique);
    for (int i = 0; i < 25; ++i) {
      if (auto made = random_case(seed++, FusionMode::kStitch, techniques)) {
        cases.push_back(std::move(made));
      }
    }
  }
  CHECK(cases.size() > 75);
  run_batch(cases, 1);
  for (const auto& done : cases) check_exact(*done);
  CHECK(bytes_are_as_predicted(cases));
}
