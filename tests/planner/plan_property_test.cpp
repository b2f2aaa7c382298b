// What holds for every plan, whatever the graph: rules, one writer per buffer, buffers apart, text.
#include <map>
#include <set>

#include "graph/error.h"
#include "planned.h"
#include "planner/plan/plan_text.h"
#include "planner/plan/step_buffers.h"
#include "random_graph.h"
#include "support/catch.h"

using namespace stitch;

namespace {

constexpr int kSteps = 14;

void check_writers(const Plan& plan) {
  std::map<BufferId, int> writers;
  std::set<BufferId> written;
  BufferLookup lookup(plan);
  for (const Step& step : plan.steps) {
    const StepBuffers used = lookup.of(step);
    for (const BufferId buffer : used.reads) {
      const BufferKind kind = plan.buffers[buffer.index].kind;
      const bool is_given = kind == BufferKind::kInput || kind == BufferKind::kConstant;
      const bool is_own = kind == BufferKind::kScratch;
      CHECK((is_given || is_own || written.count(buffer) != 0));
    }
    for (const BufferId buffer : used.writes) {
      ++writers[buffer];
      written.insert(buffer);
    }
  }
  for (const auto& [buffer, count] : writers) CHECK(count == 1);
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.buffers[b].kind != BufferKind::kOutput || plan.buffers[b].bytes == 0) continue;
    CHECK(written.count(BufferId(b)) == 1);
  }
}

void check_bytes(const Plan& plan) {
  for (const Step& step : plan.steps) {
    const Kernel* const kernel = std::get_if<Kernel>(&step);
    if (kernel == nullptr) continue;
    CHECK(kernel->bytes.compulsory <= kernel->bytes.bytes);
    CHECK(kernel->estimate.total_us >= kernel->estimate.launch_us);
  }
}

// False when the graph has an op that no kernel is known for.
bool check_plan(const Graph& graph, const PlanOptions& options) {
  Plan plan;
  try {
    plan = make_plan(graph, options);
  } catch (const ModelError&) {
    return false;
  }
  CHECK(plan_problems(plan) == std::vector<std::string>());
  check_writers(plan);
  check_bytes(plan);
  const std::string text = print_plan(plan);
  CHECK(print_plan(parse_plan(text, graph)) == text);
  CHECK(print_plan(make_plan(graph, options)) == text);
  return true;
}

}  // namespace

TEST_CASE("plans of random graphs are valid, deterministic and round-trip as text") {
  int planned = 0;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    const RandomGraph random = make_random_graph(seed, kSteps);
    for (const FusionMode fusion :
         {FusionMode::kNone, FusionMode::kXla, FusionMode::kFusionStitching, FusionMode::kAStitch,
          FusionMode::kStitch}) {
      for (const ContractionMode contractions :
           {ContractionMode::kLibrary, ContractionMode::kOwn}) {
        CAPTURE(seed);
        PlanOptions options;
        options.device = "a100";
        options.fusion = fusion;
        options.contractions = contractions;
        if (check_plan(random.graph, options)) ++planned;
      }
    }
  }
  CHECK(planned > 60);
}

TEST_CASE("no mode is predicted to be faster than the planner's own") {
  int planned = 0;
  for (uint32_t seed = 100; seed <= 160; ++seed) {
    const RandomGraph random = make_random_graph(seed, kSteps);
    PlanOptions options;
    options.device = "a100";
    options.contractions = ContractionMode::kOwn;
    std::map<FusionMode, double> us;
    try {
      for (const FusionModeName& mode : kFusionModes) {
        options.fusion = mode.mode;
        us[mode.mode] = predicted_us(make_plan(random.graph, options));
      }
    } catch (const ModelError&) {
      continue;  // an op that no kernel is known for
    }
    CAPTURE(seed);
    for (const auto& [mode, other] : us) CHECK(us.at(FusionMode::kStitch) <= other + 1e-9);
    ++planned;
  }
  CHECK(planned > 10);
}
