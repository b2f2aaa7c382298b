// Which kernels a graph becomes: what is stitched, what is cut, and why.
#include "planner/make_plan.h"

#include "planned.h"
#include "support/catch.h"

using namespace stitch;

namespace {

const char* const kLayerNorm = R"(graph "norm" {
  input %0 "x" : f32[128,1024]
  input %1 "gain" : f32[1024]
  %2 = reduce(%0) {kind=sum, axes=[1]} : f32[128]
  %3 = constant {f32[] 1024} : f32[]
  %4 = broadcast(%3) {axes=[]} : f32[128]
  %5 = div(%2, %4) : f32[128]
  %6 = broadcast(%5) {axes=[0]} : f32[128,1024]
  %7 = sub(%0, %6) : f32[128,1024]
  %8 = mul(%7, %7) : f32[128,1024]
  %9 = reduce(%8) {kind=sum, axes=[1]} : f32[128]
  %10 = div(%9, %4) : f32[128]
  %11 = sqrt(%10) : f32[128]
  %12 = broadcast(%11) {axes=[0]} : f32[128,1024]
  %13 = div(%7, %12) : f32[128,1024]
  %14 = broadcast(%1) {axes=[1]} : f32[128,1024]
  %15 = mul(%13, %14) : f32[128,1024]
  output "y" %15
})";

}  // namespace

TEST_CASE("softmax of short rows is one kernel that keeps the row in registers") {
  const auto planned = plan_text_graph(softmax_graph(4096, 1024));
  REQUIRE(planned->plan.steps.size() == 1);
  CHECK(planned->problems().empty());
  const Stage& stage = planned->stage();
  CHECK(stage.mapping.kind == MappingKind::kRow);
  CHECK(stage.mapping.threads_per_row == 32);
  CHECK(stage.mapping.row_threads == 8);
  CHECK(stage.mapping.grid_x == 512);
  REQUIRE(stage.groups.size() == 3);
  CHECK(stage.groups[0].mapping.vector == 4);
  for (const Group& group : stage.groups) CHECK_FALSE(group.block_barrier);
  for (const Root* root : roots_of(stage, RootKind::kReduce)) CHECK(root->slot_offset == -1);
  // x until the exponential, then the exponential.
  CHECK(places_of_kind(*planned->kernels()[0], PlaceKind::kRegisterArray) == 2);
  CHECK(planned->kernels()[0]->bytes.bytes == 2 * 4096 * 1024 * 4);
  CHECK(planned->kernels()[0]->bytes.compulsory == planned->kernels()[0]->bytes.bytes);
}

TEST_CASE("softmax of long rows keeps the row in shared memory") {
  const auto planned = plan_text_graph(softmax_graph(512, 40000));
  REQUIRE(planned->plan.steps.size() == 1);
  CHECK(planned->problems().empty());
  const Kernel& kernel = *planned->kernels()[0];
  CHECK(planned->stage().mapping.row_threads == 1);
  CHECK(places_of_kind(kernel, PlaceKind::kRegisterArray) +
            places_of_kind(kernel, PlaceKind::kShared) ==
        2);
  CHECK(kernel.shared_bytes <= 163 * 1024);
  CHECK(kernel.bytes.bytes == kernel.bytes.compulsory);
}

TEST_CASE("softmax of rows that fit nowhere reads them twice") {
  const auto planned = plan_text_graph(softmax_graph(512, 200000));
  REQUIRE(planned->plan.steps.size() == 1);
  CHECK(planned->problems().empty());
  const Kernel& kernel = *planned->kernels()[0];
  CHECK(places_of_kind(kernel, PlaceKind::kRegisterArray) == 0);
  CHECK(kernel.bytes.bytes == 512LL * 200000 * 4 * 3);  // two reads, one write
}

TEST_CASE("GELU alone is one kernel without a barrier") {
  const auto planned = plan_text_graph(R"(graph "gelu" {
  input %0 "x" : f32[128,3072]
  %1 = constant {f32[] 0.70710677} : f32[]
  %2 = constant {f32[] 1} : f32[]
  %3 = constant {f32[] 0.5} : f32[]
  %4 = broadcast(%1) {axes=[]} : f32[128,3072]
  %5 = mul(%0, %4) : f32[128,3072]
  %6 = erf(%5) : f32[128,3072]
  %7 = broadcast(%2) {axes=[]} : f32[128,3072]
  %8 = add(%6, %7) : f32[128,3072]
  %9 = mul(%0, %8) : f32[128,3072]
  %10 = broadcast(%3) {axes=[]} : f32[128,3072]
  %11 = mul(%9, %10) : f32[128,3072]
  output "y" %11
})");
  REQUIRE(planned->plan.steps.size() == 1);
  CHECK(planned->problems().empty());
  CHECK(planned->stage().mapping.kind == MappingKind::kLoop);
  CHECK(planned->kernels()[0]->bytes.bytes == 2 * 128 * 3072 * 4);
}

TEST_CASE("statistics of a batch norm and its result are one kernel") {
  // Many channels: a block has a channel to itself.
  const auto channels = plan_text_graph(batch_norm_graph(64, 256, 196));
  REQUIRE(channels->plan.steps.size() == 1);
  CHECK(channels->problems().empty());
  CHECK(channels->kernels()[0]->bytes.bytes == channels->kernels()[0]->bytes.compulsory);
  CHECK_FALSE(channels->kernels()[0]->cooperative);

  // Few channels: blocks share one, meet once, and the first of them stores the statistics.
  const auto shared = plan_text_graph(batch_norm_graph(64, 3, 9216));
  REQUIRE(shared->plan.steps.size() == 1);
  CHECK(shared->problems().empty());
  const Kernel& kernel = *shared->kernels()[0];
  CHECK(kernel.cooperative);
  REQUIRE(kernel.parts.at(0).stages.size() == 2);
  const int64_t scratch = kernel.bytes.bytes - kernel.bytes.compulsory;
  CHECK(kernel.bytes.compulsory == (2 * 64 * 3 * 9216 + 2 * 3) * 4);
  CHECK(scratch * 50 < kernel.bytes.compulsory);
  int once = 0;
  for (const Stage& stage : kernel.parts.at(0).stages) {
    for (const Group& group : stage.groups) once += group.guards.empty() ? 0 : 1;
  }
  CHECK(once == 2);

  // Few channels that fit nowhere: read again, but by the whole device.
  const auto large = plan_text_graph(batch_norm_graph(128, 3, 50176));
  REQUIRE(large->plan.steps.size() == 1);
  CHECK(large->problems().empty());
  CHECK(large->kernels()[0]->parts.at(0).blocks >= 90);
}

TEST_CASE("a norm of few rows gives each row a block and two slots in turn") {
  const auto planned = plan_text_graph(kLayerNorm);
  REQUIRE(planned->plan.steps.size() == 1);
  CHECK(planned->problems().empty());
  CHECK(planned->stage().mapping.threads_per_row == 256);
  CHECK(planned->stage().mapping.grid_x == 128);
  const std::vector<const Root*> reduces = roots_of(planned->stage(), RootKind::kReduce);
  REQUIRE(reduces.size() == 2);
  CHECK(reduces[0]->slot_bytes == 32);
  CHECK(reduces[0]->slot_offset != reduces[1]->slot_offset);
  // Mean and deviation are computed once per row.
  CHECK(roots_of(planned->stage(), RootKind::kPlace).size() >= 3);
}

TEST_CASE("without fusion every arithmetic node is a kernel of its own") {
  PlanOptions options;
  options.fusion = FusionMode::kNone;
  const auto planned = plan_text_graph(softmax_graph(64, 256), options);
  CHECK(planned->problems().empty());
  CHECK(planned->kernels().size() == 5);
}

TEST_CASE("a limit of fusions leaves later regions apart") {
  PlanOptions options;
  options.max_fusions = 0;
  const auto planned = plan_text_graph(softmax_graph(64, 256), options);
  CHECK(planned->problems().empty());
  CHECK(planned->kernels().size() == 5);
}

TEST_CASE("an element-wise chain is one loop over vectors") {
  const auto planned = plan_text_graph(R"(graph "chain" {
  input %0 "x" : f32[64,32,28,28]
  input %1 "y" : f32[64,32,28,28]
  %2 = add(%0, %1) : f32[64,32,28,28]
  %3 = tanh(%2) : f32[64,32,28,28]
  output "z" %3
})");
  REQUIRE(planned->plan.steps.size() == 1);
  CHECK(planned->problems().empty());
  const StageMapping& mapping = planned->stage().mapping;
  CHECK(mapping.kind == MappingKind::kLoop);
  CHECK(mapping.rows.size() == 1);  // four dims that always move together
  CHECK(mapping.rows_per_thread == 4);
}

TEST_CASE("few long columns are shared by blocks, and the last one finishes") {
  const auto planned = plan_text_graph(R"(graph "columns" {
  input %0 "x" : f32[8192,1024]
  %1 = reduce(%0) {kind=sum, axes=[0]} : f32[1024]
  output "sum" %1
})");
  REQUIRE(planned->plan.steps.size() == 1);
  CHECK(planned->problems().empty());
  const Kernel& kernel = *planned->kernels()[0];
  const std::vector<Stage>& stages = kernel.parts.at(0).stages;
  REQUIRE(stages.size() == 2);
  CHECK(stages[0].mapping.kind == MappingKind::kColumn);
  CHECK(stages[1].before == Separation::kTicket);
  CHECK_FALSE(stages[1].whole_grid);
  CHECK(stages[1].split_axes == stages[0].mapping.block_axes);
  CHECK(kernel.counters == stages[0].mapping.grid_x);
  CHECK_FALSE(kernel.cooperative);
  CHECK(kernel.bytes.bytes * 100 < kernel.bytes.compulsory * 102);
}

TEST_CASE("the mean of a loss is left to the block that arrives last") {
  const auto planned = plan_text_graph(R"(graph "loss" {
  input %0 "x" : f32[512,3000]
  %1 = mul(%0, %0) : f32[512,3000]
  %2 = reduce(%1) {kind=sum, axes=[1]} : f32[512]
  %3 = sqrt(%2) : f32[512]
  %4 = reduce(%3) {kind=sum, axes=[0]} : f32[]
  output "loss" %4
})");
  REQUIRE(planned->plan.steps.size() == 1);
  CHECK(planned->problems().empty());
  const Kernel& kernel = *planned->kernels()[0];
  REQUIRE(kernel.parts.at(0).stages.size() == 2);
  CHECK(kernel.parts[0].stages[1].before == Separation::kTicket);
  CHECK(kernel.parts[0].stages[1].whole_grid);
  CHECK(kernel.parts[0].stages[1].mapping.grid_x == 1);
  CHECK(kernel.counters == 1);
}

TEST_CASE("a reduction over what other blocks own starts a kernel, and the plan says why") {
  const auto planned = plan_text_graph(R"(graph "two" {
  input %0 "x" : f32[4096,1024]
  %1 = reduce(%0) {kind=sum, axes=[1]} : f32[4096]
  %2 = broadcast(%1) {axes=[0]} : f32[4096,1024]
  %3 = sub(%0, %2) : f32[4096,1024]
  %4 = reduce(%3) {kind=max, axes=[0]} : f32[1024]
  output "y" %4
})");
  CHECK(planned->problems().empty());
  CHECK(planned->kernels().size() == 2);
  REQUIRE(planned->plan.notes.size() == 1);
  CHECK(planned->plan.notes[0].find("it reduces over indices that different blocks own") !=
        std::string::npos);
}

TEST_CASE("two small independent kernels are packed into one launch") {
  const auto planned = plan_text_graph(R"(graph "pair" {
  input %0 "x" : f32[100,30]
  input %1 "y" : f32[7,9]
  %2 = exp(%0) : f32[100,30]
  %3 = tanh(%1) : f32[7,9]
  output "a" %2
  output "b" %3
})");
  REQUIRE(planned->plan.steps.size() == 1);
  CHECK(planned->problems().empty());
  const Kernel& kernel = *planned->kernels()[0];
  REQUIRE(kernel.parts.size() == 2);
  CHECK(kernel.bytes.bytes == 2 * (3000 + 63) * 4);
}

TEST_CASE("a value per row that is dear is computed once per row") {
  const auto planned = plan_text_graph(R"(graph "power" {
  input %0 "rate" : f32[4096]
  input %1 "signal" : f32[4096,256]
  %2 = exp(%0) : f32[4096]
  %3 = broadcast(%2) {axes=[0]} : f32[4096,256]
  %4 = add(%3, %1) : f32[4096,256]
  output "sum" %4
})");
  REQUIRE(planned->plan.steps.size() == 1);
  CHECK(planned->problems().empty());
}

TEST_CASE("a pooling window is a loop inside of a thread") {
  const auto planned = plan_text_graph(R"(graph "pool" {
  input %0 "x" : f32[1,8,32,32]
  %1 = reduce_window(%0) {kind=max, kernel=[3,3], strides=[2,2], dilations=[1,1], low=[1,1], high=[0,0]} : f32[1,8,16,16]
  output "y" %1
})");
  REQUIRE(planned->plan.steps.size() == 1);
  CHECK(planned->problems().empty());
  CHECK(planned->stage().mapping.kind == MappingKind::kLoop);
  CHECK(roots_of(planned->stage(), RootKind::kReduce).empty());
}

TEST_CASE("a tensor without elements needs no kernel") {
  const auto planned = plan_text_graph(R"(graph "empty" {
  input %0 "x" : f32[0,8]
  %1 = exp(%0) : f32[0,8]
  output "y" %1
})");
  CHECK(planned->plan.steps.empty());
}

TEST_CASE("a matrix product of our own takes tiles, and its columns are the contiguous results") {
  PlanOptions options;
  options.contractions = ContractionMode::kOwn;
  const auto planned = plan_text_graph(R"(graph "product" {
  input %0 "a" : f32[200,64]
  input %1 "b" : f32[64,300]
  %2 = matmul(%0, %1) : f32[200,300]
  output "c" %2
})",
                                       options);
  REQUIRE(planned->plan.steps.size() == 1);
  CHECK(planned->problems().empty());
  const Stage& stage = planned->stage();
  CHECK(stage.mapping.kind == MappingKind::kContraction);
  CHECK(stage.contraction.m_operand == 0);
  REQUIRE(stage.contraction.n_axes.size() == 1);
  CHECK(planned->plan.graph.pool.atom(stage.contraction.n_axes[0]).extent == 300);
}

TEST_CASE("a matrix product by the library is a call between buffers") {
  const auto planned = plan_text_graph(R"(graph "product" {
  input %0 "a" : f32[200,64]
  input %1 "b" : f32[64,300]
  %2 = matmul(%0, %1) : f32[200,300]
  output "c" %2
})");
  REQUIRE(planned->plan.steps.size() == 1);
  REQUIRE(std::holds_alternative<LibraryMatmul>(planned->plan.steps[0]));
  CHECK(std::get<LibraryMatmul>(planned->plan.steps[0]).layout.m == 200);
}

TEST_CASE("blocks that share a row meet once for its maximum and sum and keep their part of it") {
  const auto planned = plan_text_graph(softmax_graph(4, 131072));
  REQUIRE(planned->plan.steps.size() == 1);
  CHECK(planned->problems().empty());
  const Kernel& kernel = *planned->kernels()[0];
  const std::vector<Stage>& stages = kernel.parts.at(0).stages;
  REQUIRE(stages.size() == 2);
  CHECK(stages[1].before == Separation::kRowBarrier);
  CHECK(stages[1].split_axes == stages[0].mapping.block_axes);
  CHECK(stages[1].counter == 0);
  CHECK(kernel.cooperative);
  CHECK(kernel.counters == 4);
  CHECK(kernel.bytes.bytes * 100 < kernel.bytes.compulsory * 102);
  CHECK(places_of_kind(kernel, PlaceKind::kRegisterArray) == 1);
  CHECK(places_of_kind(kernel, PlaceKind::kScratch) == 2);
  // The twin waits for nothing.
  REQUIRE(kernel.twin.size() == 1);
  CHECK_FALSE(kernel.twin[0].cooperative);
  CHECK(kernel.twin[0].counters == 0);
}

TEST_CASE("a transposition goes through a padded tile, contiguous on both sides") {
  const auto planned = plan_text_graph(R"(graph "turn" {
  input %0 "x" : f32[96,130]
  %1 = transpose(%0) {perm=[1,0]} : f32[130,96]
  %2 = exp(%1) : f32[130,96]
  output "y" %2
})");
  REQUIRE(planned->plan.steps.size() == 1);
  CHECK(planned->problems().empty());
  const Stage& stage = planned->stage();
  CHECK(stage.mapping.kind == MappingKind::kTile);
  REQUIRE(stage.groups.size() == 2);
  CHECK_FALSE(stage.groups[0].block_barrier);
  CHECK(stage.groups[1].block_barrier);
  CHECK(stage.groups[0].mapping.columns[0] == stage.groups[1].mapping.columns[1]);
  CHECK(stage.groups[0].mapping.columns[1] == stage.groups[1].mapping.columns[0]);
  CHECK(stage.guards.size() == 1);  // 130 is no multiple of 32
  CHECK(planned->kernels()[0]->shared_bytes == 32 * 33 * 4);
}

TEST_CASE("a matrix times a vector heads the region that reads it") {
  const auto planned = plan_text_graph(R"(graph "gate" {
  input %0 "x" : f32[1,48,10,10]
  input %p "p" : f32[1,20]
  input %w "w" : f32[20,48]
  %2 = matmul(%p, %w) : f32[1,48]
  %3 = tanh(%2) : f32[1,48]
  %4 = broadcast(%3) {axes=[0,1]} : f32[1,48,10,10]
  %5 = mul(%0, %4) : f32[1,48,10,10]
  output "y" %5
})");
  CHECK(planned->problems().empty());
  CHECK(planned->plan.steps.size() == 1);
}

TEST_CASE("modes differ in what may stand behind a reduce") {
  PlanOptions options;
  options.device = "a100";
  const auto kernels = [&](const std::string& graph, FusionMode mode) {
    options.fusion = mode;
    const auto planned = plan_text_graph(graph, options);
    CHECK(planned->problems().empty());
    return planned->kernels().size();
  };
  // max; sum of exp; quotient. A reduce ends its kernel in mode xla.
  CHECK(kernels(softmax_graph(4096, 1024), FusionMode::kNone) == 5);
  CHECK(kernels(softmax_graph(4096, 1024), FusionMode::kXla) == 3);
  CHECK(kernels(softmax_graph(4096, 1024), FusionMode::kFusionStitching) == 1);
  CHECK(kernels(softmax_graph(4096, 1024), FusionMode::kAStitch) == 1);
  // Two sums, the root that a broadcast reads, the rest.
  CHECK(kernels(kLayerNorm, FusionMode::kXla) == 4);
  CHECK(kernels(kLayerNorm, FusionMode::kFusionStitching) == 1);
  CHECK(kernels(kLayerNorm, FusionMode::kAStitch) == 1);
}

TEST_CASE("blocks of a kernel meet at a barrier where rows change hands, if that is asked for") {
  PlanOptions options;
  options.device = "a100";
  options.fusion = FusionMode::kAStitch;
  const auto planned = plan_text_graph(R"(graph "two" {
  input %0 "x" : f32[4096,1024]
  %1 = reduce(%0) {kind=sum, axes=[1]} : f32[4096]
  %2 = broadcast(%1) {axes=[0]} : f32[4096,1024]
  %3 = sub(%0, %2) : f32[4096,1024]
  %4 = reduce(%3) {kind=max, axes=[0]} : f32[1024]
  output "y" %4
})",
                                       options);
  REQUIRE(planned->kernels().size() == 1);
  CHECK(planned->problems().empty());
  const Kernel& kernel = *planned->kernels()[0];
  REQUIRE(kernel.parts.at(0).stages.size() == 2);
  CHECK(kernel.parts[0].stages[1].before == Separation::kGridBarrier);
  CHECK(kernel.cooperative);
  CHECK(kernel.twin.size() == 2);
}

TEST_CASE("pooling windows of pooling windows are not computed again for every point") {
  const auto pools = [](int extent) {
    const std::string type =
        "f32[1,32," + std::to_string(extent) + "," + std::to_string(extent) + "]";
    const std::string window =
        " {kind=max, kernel=[5,5], strides=[1,1], dilations=[1,1], low=[2,2], high=[2,2]} : " +
        type;
    return plan_text_graph("graph \"pools\" {\n  input %0 \"x\" : " + type +
                           "\n  %1 = reduce_window(%0)" + window + "\n  %2 = reduce_window(%1)" +
                           window + "\n  %3 = reduce_window(%2)" + window +
                           "\n  output \"y\" %3\n}");
  };
  // 15625 reads for each point in one kernel, 3 times 25 in three.
  CHECK(pools(64)->kernels().size() == 3);
}
