// Which nodes go into the kernel of a contraction, and what that kernel then stores.
#include "planner/fusion/epilogue.h"

#include <fmt/format.h>

#include "planner/plan/plan_text.h"
#include "planner/planned.h"
#include "support/catch.h"

using namespace stitch;

namespace {

constexpr const char* kImage = "f32[2,8,16,16]";

std::string conv(const std::string& name, const std::string& x, const std::string& w) {
  return fmt::format(
      "  %{} = conv(%{}, %{}) {{strides=[1, 1], dilations=[1, 1], low=[1, 1], high=[1, 1]}} : {}\n",
      name, x, w, kImage);
}

// `body` over x, shortcut, weights w and v, and the row bias.
std::unique_ptr<Planned> plan_convolutions(const std::string& body, PlanOptions options = {}) {
  options.best_of_modes = false;
  return plan_text_graph(
      fmt::format("graph \"g\" {{\n  input %x \"x\" : {0}\n  input %shortcut \"shortcut\" : {0}\n"
                  "  input %w \"w\" : f32[8,8,3,3]\n  input %v \"v\" : f32[8,8,3,3]\n"
                  "  input %bias \"bias\" : f32[8]\n{1}\n}}",
                  kImage, body),
      options);
}

size_t stores(const Kernel& kernel) {
  return roots_of(kernel.parts.at(0).stages.at(0), RootKind::kStore).size();
}

size_t nodes(const Kernel& kernel) {
  return kernel.parts.at(0).stages.at(0).groups.at(0).nodes.size();
}

bool is_contraction(const Kernel& kernel) {
  return kernel.parts.at(0).stages.at(0).mapping.kind == MappingKind::kContraction;
}

}  // namespace

TEST_CASE("bias, residual and activation go into the kernel of a convolution") {
  const std::string body = conv("c", "x", "w") + R"(
  %b = broadcast(%bias) {axes=[1]} : f32[2,8,16,16]
  %s = add(%c, %b)
  %r = add(%s, %shortcut)
  %y = tanh(%r)
  output "y" %y)";
  const auto planned = plan_convolutions(body);
  CHECK(planned->problems().empty());
  REQUIRE(planned->plan.steps.size() == 1);
  const Kernel& kernel = *planned->kernels()[0];
  CHECK(is_contraction(kernel));
  CHECK(nodes(kernel) == 4);
  CHECK(stores(kernel) == 1);
  // x, shortcut and y of 16 KiB, one weight, the bias.
  CHECK(kernel.bytes.compulsory == 3 * 16384 + 8 * 8 * 9 * 4 + 8 * 4);

  PlanOptions without;
  without.techniques.leave_out(Technique::kEpilogues);
  CHECK(plan_convolutions(body, without)->plan.steps.size() == 2);
}

TEST_CASE("a plan with an epilogue round-trips as text") {
  const auto planned = plan_convolutions(conv("c", "x", "w") + R"(
  %b = broadcast(%bias) {axes=[1]} : f32[2,8,16,16]
  %s = add(%c, %b)
  %y = exp(%s)
  output "s" %s
  output "y" %y)");
  REQUIRE(planned->plan.steps.size() == 1);
  CHECK(stores(*planned->kernels()[0]) == 2);
  const std::string text = print_plan(planned->plan);
  const Plan again = parse_plan(text, planned->graph);
  CHECK(plan_problems(again).empty());
  CHECK(print_plan(again) == text);
}

TEST_CASE("of two convolutions that meet the later one adds") {
  const auto planned = plan_convolutions(conv("c", "x", "w") + "  %e = exp(%c)\n" +
                                         conv("d", "x", "v") + "  %f = abs(%d)\n" + R"(
  %s = add(%e, %f)
  output "y" %s)");
  CHECK(planned->problems().empty());
  REQUIRE(planned->plan.steps.size() == 2);
  CHECK(nodes(*planned->kernels()[0]) == 2);  // conv, exp
  CHECK(nodes(*planned->kernels()[1]) == 3);  // conv, abs, add
}

TEST_CASE("a value that waits for the contraction is no operand of its epilogue") {
  // The mean of c is known when all of c is.
  const auto planned = plan_convolutions(conv("c", "x", "w") + R"(
  %m = reduce(%c) {kind=max, axes=[1,2,3]}
  %b = broadcast(%m) {axes=[0]} : f32[2,8,16,16]
  %y = sub(%c, %b)
  output "y" %y)");
  CHECK(planned->problems().empty());
  REQUIRE(planned->plan.steps.size() == 2);
  CHECK(nodes(*planned->kernels()[0]) == 1);
}

TEST_CASE("an operand that a region of the same depth computes stays with that region") {
  // d is not earlier than c: what is computed from d may depend on any contraction of its depth.
  const auto planned = plan_convolutions(conv("c", "x", "w") + conv("d", "x", "v") + R"(
  %m = reduce(%d) {kind=max, axes=[2,3]}
  %b = broadcast(%m) {axes=[0,1]} : f32[2,8,16,16]
  %y = add(%c, %b)
  output "y" %y)");
  CHECK(planned->problems().empty());
  REQUIRE(planned->plan.steps.size() == 3);
  CHECK(nodes(*planned->kernels()[0]) == 1);
  CHECK(nodes(*planned->kernels()[1]) == 1);
}

TEST_CASE("what only the following region reads is left to it unless it is narrower") {
  const std::string norm = R"(
  %m = reduce(%s) {kind=max, axes=[2,3]}
  %b = broadcast(%m) {axes=[0,1]} : f32[2,8,16,16]
  %e = sub(%s, %b)
  %q = mul(%s, %s)
  %t = reduce(%q) {kind=sum, axes=[2,3]}
  output "t" %t
  output "y" %e)";
  const auto planned =
      plan_convolutions(conv("c", "x", "w") + "  %s = add(%c, %shortcut)\n" + norm);
  CHECK(planned->problems().empty());
  REQUIRE(planned->plan.steps.size() == 2);
  CHECK(nodes(*planned->kernels()[0]) == 2);  // the sum, which is read thrice; not its square
  CHECK(stores(*planned->kernels()[0]) == 1);

  const auto wider = plan_convolutions(conv("c", "x", "w") + R"(
  %f = cast(%c) : f64[2,8,16,16]
  %m = reduce(%f) {kind=sum, axes=[2,3]}
  output "m" %m)");
  CHECK(nodes(*wider->kernels()[0]) == 1);
}

TEST_CASE("an element-wise operand that nothing else reads is computed in the epilogue") {
  const auto planned = plan_convolutions(conv("c", "x", "w") + R"(
  %h = exp(%shortcut)
  %y = mul(%c, %h)
  output "y" %y)");
  CHECK(planned->problems().empty());
  REQUIRE(planned->plan.steps.size() == 1);
  CHECK(nodes(*planned->kernels()[0]) == 3);
}

TEST_CASE("a transposed result is stored by the contraction's kernel") {
  PlanOptions own;
  own.contractions = ContractionMode::kOwn;
  const auto planned = plan_text_graph(R"(graph "g" {
  input %a "a" : f32[64,48]
  input %b "b" : f32[48,96]
  %m = matmul(%a, %b) : f32[64,96]
  %e = exp(%m)
  %t = transpose(%e) {perm=[1, 0]} : f32[96,64]
  output "y" %t
})",
                                       own);
  CHECK(planned->problems().empty());
  REQUIRE(planned->plan.steps.size() == 1);
  CHECK(is_contraction(*planned->kernels()[0]));
}

TEST_CASE("epilogues are limited as fusions are") {
  PlanOptions none;
  none.max_fusions = 0;
  const std::string body = conv("c", "x", "w") + "  %y = tanh(%c)\n  output \"y\" %y";
  CHECK(plan_convolutions(body, none)->plan.steps.size() == 2);
  none.max_fusions = 1;
  CHECK(plan_convolutions(body, none)->plan.steps.size() == 1);
}

TEST_CASE("a short product is compiled by us where its epilogue saves more than the library") {
  const auto steps = [](int sum, const std::string& behind) {
    const std::string k = std::to_string(sum);
    PlanOptions options;
    options.contractions = ContractionMode::kLibrary;
    const auto planned = plan_text_graph(
        "graph \"gemm\" {\n  input %x \"x\" : f32[2048," + k + "]\n  input %w \"w\" : f32[" + k +
            ",512]\n  %p = matmul(%x, %w) : f32[2048,512]\n" + behind,
        options);
    CHECK(planned->problems().empty());
    return std::pair(planned->kernels().size(), planned->plan.steps.size());
  };
  const std::string tanh = "  %t = tanh(%p)\n  output \"t\" %t\n}";
  CHECK(steps(16, tanh) == std::pair<size_t, size_t>(1, 1));
  CHECK(steps(1024, tanh) == std::pair<size_t, size_t>(1, 2));
  // Its kernel remains: the sum needs one anyway.
  const std::string sum =
      "  %t = tanh(%p)\n  %s = reduce(%t) {kind=sum, axes=[1]}\n  output \"s\" %s\n}";
  CHECK(steps(16, sum) == std::pair<size_t, size_t>(1, 2));
}
