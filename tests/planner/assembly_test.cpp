#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "planner/plan/plan_text.h"
#include "planner/planned.h"
#include "support/catch.h"

using namespace stitch;

namespace {

// h = tanh(h w) over and over; all steps are joined along `axis` of [steps,2,16], the result is
// `last`.
std::string recurrence(int steps, int axis, const std::string& last) {
  std::string text =
      "graph \"steps\" {\n  input %h \"x\" : f32[2,16]\n  input %w \"w\" : f32[16,16]\n";
  std::string previous = "h", joined;
  for (int i = 0; i < steps; ++i) {
    text += fmt::format(
        "  %m{0} = matmul(%{1}, %w) {{accumulate=f32}}\n  %t{0} = tanh(%m{0})\n"
        "  %r{0} = reshape(%t{0}) : f32[1,2,16]\n",
        i, previous);
    previous = fmt::format("t{}", i);
    joined += fmt::format("{}%r{}", i == 0 ? "" : ", ", i);
  }
  return text + fmt::format("  %all = concat({}) {{axis={}}}\n", joined, axis) + last + "\n}";
}

std::unique_ptr<Planned> planned(const std::string& text) {
  PlanOptions options;
  options.contractions = ContractionMode::kOwn;
  options.best_of_modes = false;
  auto planned = plan_text_graph(text, options);
  CHECK(planned->problems() == std::vector<std::string>());
  CHECK(print_plan(parse_plan(print_plan(planned->plan), planned->graph)) ==
        print_plan(planned->plan));
  return planned;
}

size_t parts(const Plan& plan) {
  size_t count = 0;
  for (const Buffer& buffer : plan.buffers) count += buffer.inside.valid() ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("the steps of a recurrence are computed where their sequence lies") {
  const auto run = planned(recurrence(20, 0, "%y = exp(%all)\noutput \"y\" %y"));
  CHECK(parts(run->plan) == 20);
  std::set<int64_t> offsets;
  for (const Buffer& buffer : run->plan.buffers) {
    if (buffer.inside.valid()) {
      offsets.insert(buffer.offset - run->plan.buffers[buffer.inside.index].offset);
    }
  }
  CHECK(*offsets.rbegin() == 19 * 2 * 16 * 4);
  CHECK(offsets.size() == 20);
}

TEST_CASE("the parts of an output lie in the output") {
  const auto run = planned(recurrence(20, 0, "output \"all\" %all"));
  CHECK(parts(run->plan) == 20);
  for (const Buffer& buffer : run->plan.buffers) {
    if (buffer.inside.valid()) CHECK(buffer.kind == BufferKind::kOutput);
  }
}

TEST_CASE("parts that are multiplied keep their strides, and then lie apart") {
  CHECK(parts(planned(recurrence(20, 2, "output \"all\" %all"))->plan) == 0);
}

TEST_CASE("a step that is an output itself lies apart") {
  CHECK(parts(planned(recurrence(20, 0, "output \"all\" %all\noutput \"h\" %t3"))->plan) == 0);
}

TEST_CASE("a part that reaches out of its whole is a broken plan") {
  const auto run = planned(recurrence(20, 0, "%y = exp(%all)\noutput \"y\" %y"));
  const auto part = std::find_if(run->plan.buffers.begin(), run->plan.buffers.end(),
                                 [](const Buffer& buffer) { return buffer.inside.valid(); });
  REQUIRE(part != run->plan.buffers.end());
  part->offset = run->plan.buffers[part->inside.index].offset - 4;
  REQUIRE(run->problems().size() == 1);
  CHECK(run->problems().front().find("does not lie in") != std::string::npos);
}
