// Tiles that are turned in shared memory: which readers they serve.
#include "planner/kernel/turn.h"

#include <memory>
#include <string>
#include <variant>

#include "graph/text_form.h"
#include "planner/check/plan_validate.h"
#include "planner/kernel/kernel_builder.h"
#include "support/catch.h"

using namespace stitch;

namespace {

struct OneKernel {
  std::unique_ptr<Graph> graph;
  Plan plan;
  MappingKind kind() const {
    return std::get<Kernel>(plan.steps.at(0)).parts.at(0).stages.at(0).mapping.kind;
  }
};

// Of all nodes of a graph; it stores all outputs.
OneKernel one_kernel(const std::string& text) {
  OneKernel result;
  result.graph = std::make_unique<Graph>(parse_graph(text));
  Plan& plan = result.plan;
  plan.device = "a100";
  plan.architecture = "sm_80";
  plan.graph = build_access_graph(*result.graph);
  const DeviceModel& device = find_device(plan.device, plan.architecture);
  PlanBuffers buffers(plan);
  KernelRequest request;
  for (size_t n = 0; n < plan.graph.nodes.size(); ++n) request.nodes.emplace_back(n);
  for (const AccessOutput& output : plan.graph.outputs) request.stored.push_back(output.value);
  auto built = KernelBuilder(plan, buffers, device).build(request);
  REQUIRE(std::holds_alternative<BuiltKernel>(built));
  Kernel kernel = std::get<BuiltKernel>(built).kernel;
  kernel.name = "k00";
  plan.steps.emplace_back(std::move(kernel));
  buffers.lay_out();
  return result;
}

}  // namespace

TEST_CASE("a sum of transposed values is turned, not where a window over it is in the kernel too") {
  const std::string sum = R"(graph "depthwise" {
  input %0 "x" : f32[1,56,56,96]
  input %1 "residual" : f32[1,56,56,96]
  %2 = transpose(%0) {perm=[0,3,1,2]} : f32[1,96,56,56]
  %3 = transpose(%1) {perm=[0,3,1,2]} : f32[1,96,56,56]
  %4 = add(%2, %3) : f32[1,96,56,56]
)";
  const OneKernel turned = one_kernel(sum + "  output \"sum\" %4\n}");
  CHECK(turned.kind() == MappingKind::kTile);
  CHECK(plan_problems(turned.plan).empty());
  // Rows and columns beside a tile belong to other blocks.
  const OneKernel window = one_kernel(sum + R"(  input %5 "w" : f32[96,1,7,7]
  %6 = conv(%4, %5) {strides=[1,1], dilations=[1,1], low=[3,3], high=[3,3], groups=96} : f32[1,96,56,56]
  %7 = add(%6, %4) : f32[1,96,56,56]
  output "sum" %4
  output "y" %7
})");
  CHECK(window.kind() != MappingKind::kTile);
  CHECK(plan_problems(window.plan).empty());
}
