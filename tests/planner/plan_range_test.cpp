#include "planner/plan_range.h"

#include <algorithm>
#include <map>

#include "graph/bind_dims.h"
#include "graph/error.h"
#include "graph/text_form.h"
#include "planner/absorb/absorb.h"
#include "planner/check/plan_validate.h"
#include "planner/plan/plan_text.h"
#include "random_graph.h"
#include "support/catch.h"

using namespace stitch;

namespace {

// Row sums of x, and then the maximum over all rows: few rows are split, many are not.
const char* const kRows = R"(graph "rows" {
  input %x "x" : f32[batch,65536]
  %m = reduce(%x) {kind=max, axes=[1]} : f32[batch]
  %w = broadcast(%m) {axes=[0]} : f32[batch,65536]
  %d = sub(%x, %w) : f32[batch,65536]
  %e = exp(%d) : f32[batch,65536]
  %s = reduce(%e) {kind=sum, axes=[1]} : f32[batch]
  output "y" %s
})";

// A product with a vector at batch 1, a library call else.
const char* const kProduct = R"(graph "product" {
  input %x "x" : f32[batch,1024]
  input %w "w" : f32[1024,1024]
  %y = matmul(%x, %w) : f32[batch,1024]
  %z = exp(%y) : f32[batch,1024]
  output "z" %z
})";

PlanRangeRequest request_for(const std::string& text, int64_t low, int64_t high) {
  PlanRangeRequest request;
  request.dims = {{"batch", low, high}};
  request.graph_at = [text](const DimBindings& extents) {
    return bind_dims(parse_graph(text), extents);
  };
  return request;
}

std::vector<int64_t> batches(const std::vector<DimBindings>& samples) {
  std::vector<int64_t> extents;
  for (const DimBindings& sample : samples) extents.push_back(sample.at("batch"));
  return extents;
}

}  // namespace

TEST_CASE("a range is sampled at its ends and at the powers of two between them") {
  CHECK(batches(range_samples({{"batch", 1, 64}})) == std::vector<int64_t>{1, 2, 4, 8, 16, 32, 64});
  CHECK(batches(range_samples({{"batch", 3, 20}})) == std::vector<int64_t>{3, 4, 8, 16, 20});
  CHECK(batches(range_samples({{"batch", 5, 5}})) == std::vector<int64_t>{5});
}

TEST_CASE("two ranges are sampled in pairs, at most 64 of them") {
  const auto samples = range_samples({{"batch", 1, 4}, {"seq", 16, 32}});
  REQUIRE(samples.size() == 6);
  CHECK(samples[1] == DimBindings{{"batch", 1}, {"seq", 32}});
  const auto many = range_samples({{"batch", 1, 1024}, {"seq", 1, 4096}});
  CHECK(many.size() <= 64);
  CHECK(many.size() > 16);
  CHECK(many.back() == DimBindings{{"batch", 1024}, {"seq", 4096}});
}

TEST_CASE("a range without extents, and more than two of them, are refused") {
  CHECK_THROWS_WITH(range_samples({{"batch", 4, 2}}), "the range 4..2 of batch holds no extents");
  CHECK_THROWS_WITH(range_samples({{"batch", 0, 2}}), "the range 0..2 of batch holds no extents");
  CHECK_THROWS_WITH(range_samples({{"a", 1, 2}, {"b", 1, 2}, {"c", 1, 2}}),
                    "one or two dims can have a range, not 3");
}

TEST_CASE("where every sample decides the same there is one plan and no crossover") {
  const PlanRange range = plan_range(request_for(kRows, 64, 256));
  REQUIRE(range.candidates.size() == 1);
  CHECK(range.candidates[0].mean_slowdown == 1);
  CHECK(range.candidates[0].worst_slowdown == 1);
  CHECK(range.crossovers.empty());
  CHECK(range.candidates[0].us.size() == range.samples.size());
}

TEST_CASE("the plan of a range is the least slow on average, and the crossover is exact") {
  const PlanRangeRequest request = request_for(kProduct, 1, 16);
  const PlanRange range = plan_range(request);
  REQUIRE(range.candidates.size() == 2);
  // Batch 1 is a sum of products in the kernel that reads it.
  CHECK(range.candidates[0].library_calls == 0);
  CHECK(range.candidates[1].library_calls == 1);
  double least = 1e30;
  for (const RangeCandidate& candidate : range.candidates) {
    least = std::min(least, candidate.mean_slowdown);
    for (size_t s = 0; s < range.samples.size(); ++s) {
      CHECK(candidate.us[s] >= range.candidates[range.winners[s]].us[s]);
      CHECK(candidate.regions_anew[s] == 0);
    }
  }
  CHECK(range.candidates[range.chosen].mean_slowdown == least);
  CHECK(range.winners.front() != range.winners.back());
  REQUIRE(range.crossovers.size() == 1);
  const RangeCrossover& crossover = range.crossovers.front();
  CHECK(crossover.after_us < crossover.before_us);
  // One extent below, the other is not slower.
  DimBindings below = crossover.extents;
  --below["batch"];
  const Graph graph = request.graph_at(below);
  const auto us = [&](size_t candidate) {
    const Graph planned_at =
        request.graph_at(range.samples[range.candidates[candidate].planned_at]);
    const RebuiltPlan rebuilt =
        rebuild_plan(graph, {}, make_decided_plan(planned_at, {}).decisions);
    double sum = predicted_us(rebuilt.plan);
    for (const Step& step : rebuilt.plan.steps) {
      if (const auto* call = std::get_if<LibraryMatmul>(&step)) {
        sum += library_us(rebuilt.plan.graph, call->layout, find_device("a100", ""));
      }
    }
    return sum;
  };
  CHECK(us(crossover.before) <= us(crossover.after));
}

TEST_CASE("decisions are taken over to other extents: the same nodes share a kernel") {
  const Graph small = bind_dims(parse_graph(kRows), {{"batch", 2}});
  const Graph large = bind_dims(parse_graph(kRows), {{"batch", 4096}});
  const DecidedPlan planned = make_decided_plan(small, {});
  const RebuiltPlan rebuilt = rebuild_plan(large, {}, planned.decisions);
  CHECK(rebuilt.regions_anew == 0);
  CHECK(rebuilt.plan.steps.size() == planned.plan.steps.size());
  CHECK(plan_problems(rebuilt.plan).empty());
}

TEST_CASE("decisions of another model are not taken over, and all is planned anew") {
  const Graph rows = bind_dims(parse_graph(kRows), {{"batch", 2}});
  const Graph product = bind_dims(parse_graph(kProduct), {{"batch", 1}});
  const RebuiltPlan rebuilt = rebuild_plan(rows, {}, make_decided_plan(product, {}).decisions);
  CHECK(rebuilt.regions_anew > 0);
  CHECK(plan_problems(rebuilt.plan).empty());
  CHECK(predicted_us(rebuilt.plan) > 0);
}

TEST_CASE("decisions of random graphs give their own plan again") {
  int rebuilt_plans = 0;
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    const RandomGraph random = make_random_graph(seed, 14);
    for (const FusionMode fusion : {FusionMode::kNone, FusionMode::kXla, FusionMode::kAStitch,
                                    FusionMode::kFusionStitching, FusionMode::kStitch}) {
      CAPTURE(seed, static_cast<int>(fusion));
      PlanOptions options;
      options.fusion = fusion;
      DecidedPlan planned;
      try {
        planned = make_decided_plan(random.graph, options);
      } catch (const ModelError&) {
        continue;  // an op that no kernel is known for
      }
      const RebuiltPlan rebuilt = rebuild_plan(random.graph, options, planned.decisions);
      CHECK(rebuilt.regions_anew == 0);
      CHECK(plan_problems(rebuilt.plan) == std::vector<std::string>());
      CHECK(rebuilt.plan.steps.size() == planned.plan.steps.size());
      CHECK(predicted_us(rebuilt.plan) == Approx(predicted_us(planned.plan)));
      ++rebuilt_plans;
    }
  }
  CHECK(rebuilt_plans > 100);
}
