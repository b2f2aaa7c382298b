// Which nodes before a contraction its kernel computes on its operands.
#include "planner/fusion/prologue.h"

#include <fmt/format.h>

#include "planner/plan/plan_text.h"
#include "planner/planned.h"
#include "support/catch.h"

using namespace stitch;

namespace {

// A convolution with windows of size x size over `y`, which `body` computes from x, gate and z.
std::unique_ptr<Planned> plan_convolution(const std::string& body, int size = 1) {
  PlanOptions options;
  options.best_of_modes = false;
  const int edge = size / 2;
  return plan_text_graph(
      fmt::format("graph \"g\" {{\n  input %x \"x\" : f32[2,16,12,12]\n"
                  "  input %z \"z\" : f32[2,16,12,12]\n  input %gate \"gate\" : f32[2,16]\n"
                  "  input %w \"w\" : f32[24,16,{0},{0}]\n"
                  "  %g = broadcast(%gate) {{axes=[0, 1]}} : f32[2,16,12,12]\n{2}\n"
                  "  %c = conv(%y, %w) {{strides=[1, 1], dilations=[1, 1], low=[{1}, {1}], "
                  "high=[{1}, {1}]}} : f32[2,24,12,12]\n  output \"c\" %c\n}}",
                  size, edge, body),
      options);
}

size_t kernel_count(const std::string& body, int size = 1) {
  const auto planned = plan_convolution(body, size);
  CHECK(planned->problems().empty());
  return planned->plan.steps.size();
}

}  // namespace

TEST_CASE("a gate on the operand of a convolution is multiplied while it is loaded") {
  const auto planned = plan_convolution("  %y = mul(%x, %g)");
  CHECK(planned->problems().empty());
  REQUIRE(planned->plan.steps.size() == 1);
  const Kernel& kernel = *planned->kernels()[0];
  CHECK(kernel.parts[0].stages[0].groups[0].nodes.size() == 2);
  // x, gate, w and c.
  CHECK(kernel.bytes.compulsory == 4 * (2 * 16 * 144 + 2 * 16 + 24 * 16 + 2 * 24 * 144));
  const std::string text = print_plan(planned->plan);
  CHECK(print_plan(parse_plan(text, planned->graph)) == text);
}

TEST_CASE("an operand is computed where it is loaded only if that costs nothing") {
  CHECK(kernel_count("  %h = neg(%x)\n  %a = abs(%h)\n  %y = mul(%a, %g)") == 1);
  // Expensive; two values in place of one; read elsewhere.
  CHECK(kernel_count("  %y = exp(%x)") == 2);
  CHECK(kernel_count("  %y = add(%x, %z)") == 2);
  CHECK(kernel_count("  %y = mul(%x, %g)\n  output \"y\" %y") == 2);
  // Of a window of nine points: two operations, not three.
  CHECK(kernel_count("  %y = mul(%x, %g)", 3) == 1);
  CHECK(kernel_count("  %h = neg(%x)\n  %a = abs(%h)\n  %y = mul(%a, %g)", 3) == 2);
}

TEST_CASE("a value that only its region knows is not stored for a prologue") {
  // e is computed for the maximum and for y alike; as an operand of the convolution it would be
  // stored in the place of y.
  CHECK(kernel_count("  %e = exp(%x)\n  %m = reduce(%e) {kind=max, axes=[2,3]}\n"
                     "  %b = broadcast(%m) {axes=[0, 1]} : f32[2,16,12,12]\n  %y = sub(%e, %b)") ==
        2);
}
