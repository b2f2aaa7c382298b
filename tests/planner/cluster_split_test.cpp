// Rows shared by the blocks of a cluster: when, in which form, and what the checker says of others.
#include "planner/kernel/cluster_split.h"

#include "planned.h"
#include "planner/make_plan.h"
#include "planner/plan/plan_text.h"
#include "support/catch.h"

using namespace stitch;

namespace {

std::unique_ptr<Planned> plan_for(const std::string& device, const std::string& text,
                                  std::initializer_list<Technique> left_out = {}) {
  PlanOptions options;
  options.device = device;
  for (const Technique technique : left_out) options.techniques.leave_out(technique);
  return plan_text_graph(text, options);
}

const Kernel& only_kernel(const Planned& planned) {
  REQUIRE(planned.plan.steps.size() == 1);
  return *planned.kernels().at(0);
}

}  // namespace

TEST_CASE("few long rows are shared by clusters, without scratch, counters and twin") {
  for (const char* const device : {"h100", "h200", "b200"}) {
    INFO(device);
    const auto planned = plan_for(device, softmax_graph(4, 65536));
    CHECK(planned->problems().empty());
    const Kernel& kernel = only_kernel(*planned);
    CHECK(kernel.cluster == 8);
    CHECK(kernel.counters == 0);
    CHECK_FALSE(kernel.cooperative);
    CHECK(kernel.twin.empty());
    const std::vector<Stage>& stages = kernel.parts.at(0).stages;
    REQUIRE(stages.size() == 2);  // the sum follows the maximum: one exchange for both
    for (size_t s = 1; s < stages.size(); ++s) {
      CHECK(stages[s].before == Separation::kClusterBarrier);
      CHECK(stages[s].split_axes == stages[0].mapping.block_axes);
    }
    CHECK(kernel.parts[0].blocks == 4 * 8);
    CHECK(kernel.bytes.bytes == kernel.bytes.compulsory);
    CHECK(places_of_kind(kernel, PlaceKind::kCluster) == 2);
    CHECK(places_of_kind(kernel, PlaceKind::kScratch) == 0);
  }
}

TEST_CASE("rows that no block can keep are read once by a cluster, however many they are") {
  const auto planned = plan_for("h100", softmax_graph(256, 131072));
  CHECK(planned->problems().empty());
  const Kernel& kernel = only_kernel(*planned);
  CHECK(kernel.cluster == 4);
  CHECK(kernel.parts[0].blocks == 256 * 4);
  CHECK(kernel.bytes.bytes == kernel.bytes.compulsory);
  // Without clusters the row is read twice, in one pass for maximum and sum.
  const auto without = plan_for("h100", softmax_graph(256, 131072), {Technique::kClusterScope});
  CHECK(only_kernel(*without).cluster == 1);
  CHECK(only_kernel(*without).bytes.bytes > kernel.bytes.bytes);
  CHECK(only_kernel(*without).estimate.total_us > kernel.estimate.total_us);
}

TEST_CASE("no clusters where there are none, where rows are short or fill the device") {
  CHECK(only_kernel(*plan_for("a100", softmax_graph(4, 65536))).cluster == 1);
  CHECK(only_kernel(*plan_for("l4", softmax_graph(4, 65536))).cluster == 1);
  CHECK(only_kernel(*plan_for("h100", softmax_graph(4, 1024))).cluster == 1);
  CHECK(only_kernel(*plan_for("h100", softmax_graph(4096, 4096))).cluster == 1);
  const auto without = plan_for("h100", softmax_graph(4, 65536), {Technique::kClusterScope});
  CHECK(without->problems().empty());
  CHECK(only_kernel(*without).cluster == 1);
  // Blocks that may meet nowhere else may still be a cluster.
  const auto no_grid = plan_for("h100", softmax_graph(4, 65536), {Technique::kGridScope});
  CHECK(only_kernel(*no_grid).cluster == 8);
}

TEST_CASE("a kernel in clusters comes back from its text") {
  const auto planned = plan_for("h100", softmax_graph(3, 40001));
  CHECK(planned->problems().empty());
  CHECK(only_kernel(*planned).cluster > 1);
  const std::string text = print_plan(planned->plan);
  CHECK(text.find(" cluster ") != std::string::npos);
  const Plan again = parse_plan(text, planned->graph);
  CHECK(print_plan(again) == text);
  CHECK(plan_problems(again).empty());
}

TEST_CASE("the checker knows what a cluster can do") {
  const auto planned = plan_for("h100", softmax_graph(4, 65536));
  Kernel& kernel = std::get<Kernel>(planned->plan.steps.at(0));
  const auto says = [&](const std::string& what) {
    for (const std::string& problem : planned->problems()) {
      if (problem.find(what) != std::string::npos) return true;
    }
    return false;
  };
  REQUIRE(planned->problems().empty());
  SECTION("as many blocks as every device has room for") {
    kernel.cluster = 16;
    CHECK(says("clusters of 16 blocks, h100 has 8 at most"));
  }
  SECTION("all blocks that share a row") {
    kernel.cluster = 4;
    CHECK(says("the blocks of a cluster do not share rows"));
  }
  SECTION("a value in a cluster that there is not") {
    kernel.cluster = 1;
    CHECK(says("is written to a cluster that there is not"));
  }
  SECTION("a barrier before others' values are read") {
    std::vector<Stage>& stages = kernel.parts[0].stages;
    for (Group& group : stages[1].groups) stages[0].groups.push_back(std::move(group));
    stages.erase(stages.begin() + 1);
    CHECK(says("is read from the cluster in the stage that writes it"));
  }
  SECTION("no second round") {
    for (Stage& stage : kernel.parts[0].stages) stage.mapping.passes = 2;
    CHECK(says("the blocks of a cluster do not share rows"));
  }
  SECTION("another barrier") {
    kernel.parts[0].stages[1].before = Separation::kRowBarrier;
    CHECK(says("the blocks of a cluster do not meet before a stage"));
  }
}
