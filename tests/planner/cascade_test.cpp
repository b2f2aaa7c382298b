// Which sums run in the pass of a reduce that they depend on: the algebra between the two, and the
// bytes that it saves on rows that fit neither registers nor shared memory.
#include "planner/structure/cascade.h"

#include <fmt/format.h>

#include "planned.h"
#include "planner/plan/plan_text.h"
#include "support/catch.h"

using namespace stitch;

namespace {

std::string matrix(int rows, int columns) { return fmt::format("f32[{},{}]", rows, columns); }

// %x, its maximum %m and %d = x - max; `body` computes the terms %t.
std::string shifted_graph(const std::string& body, int rows = 256, int columns = 200000) {
  const std::string type = matrix(rows, columns);
  return "graph \"g\" {\n  input %x \"x\" : " + type + "\n  input %w \"w\" : " + type +
         "\n  %m = reduce(%x) {kind=max, axes=[1]}\n  %mb = broadcast(%m) {axes=[0]} : " + type +
         "\n  %d = sub(%x, %mb)\n" + body +
         "\n  %s = reduce(%t) {kind=sum, axes=[1]}\n  output \"y\" %s\n}";
}

std::string variance_graph(const std::string& divisor, const std::string& square, int rows = 256,
                           int columns = 200000) {
  const std::string type = matrix(rows, columns);
  return "graph \"g\" {\n  input %x \"x\" : " + type +
         "\n  %s = reduce(%x) {kind=sum, axes=[1]}\n  %n = constant {f32[] " + divisor +
         "}\n  %nb = broadcast(%n) {axes=[]} : f32[" + std::to_string(rows) +
         "]\n  %m = div(%s, %nb)\n  %mb = broadcast(%m) {axes=[0]} : " + type +
         "\n  %d = sub(%x, %mb)\n" + square +
         "\n  %r = reduce(%q) {kind=sum, axes=[1]}\n  output \"y\" %r\n}";
}

CascadeRule rule_of(const std::string& graph) {
  const auto planned = plan_text_graph(graph);
  CHECK(planned->problems() == std::vector<std::string>());
  CascadeRule rule = CascadeRule::kNone;
  for (const Kernel* kernel : planned->kernels()) {
    for (const Part& part : kernel->parts) {
      for (const Stage& stage : part.stages) {
        for (const Root* root : roots_of(stage, RootKind::kReduce)) {
          if (root->cascade.rule != CascadeRule::kNone) rule = root->cascade.rule;
        }
      }
    }
  }
  return rule;
}

int64_t compulsory_bytes(const Planned& planned) {
  return planned.kernels().at(0)->bytes.compulsory;
}
int64_t moved_bytes(const Planned& planned) { return planned.kernels().at(0)->bytes.bytes; }

}  // namespace

TEST_CASE("terms that a product carries from one maximum to another follow it") {
  CHECK(rule_of(shifted_graph("  %t = exp(%d)")) == CascadeRule::kShiftedExp);
  CHECK(rule_of(shifted_graph("  %e = exp(%d)\n  %t = mul(%e, %w)")) == CascadeRule::kShiftedExp);
  CHECK(rule_of(shifted_graph("  %e = exp(%d)\n  %t = div(%e, %w)")) == CascadeRule::kShiftedExp);
  CHECK(rule_of(shifted_graph("  %e = exp(%d)\n  %n = neg(%e)\n  %p = mul(%w, %e)\n"
                              "  %t = add(%n, %p)")) == CascadeRule::kShiftedExp);
}

TEST_CASE("terms that no product carries do not follow") {
  CHECK(rule_of(shifted_graph("  %e = exp(%d)\n  %t = mul(%e, %e)")) == CascadeRule::kNone);
  CHECK(rule_of(shifted_graph("  %e = exp(%d)\n  %t = add(%e, %w)")) == CascadeRule::kNone);
  CHECK(rule_of(shifted_graph("  %e = exp(%d)\n  %t = mul(%e, %d)")) == CascadeRule::kNone);
  CHECK(rule_of(shifted_graph("  %e = exp(%d)\n  %t = div(%w, %e)")) == CascadeRule::kNone);
  CHECK(rule_of(shifted_graph("  %t = tanh(%d)")) == CascadeRule::kNone);
  // The maximum is of x: w - max x may be large.
  CHECK(rule_of(shifted_graph("  %o = sub(%w, %mb)\n  %t = exp(%o)")) == CascadeRule::kNone);
}

TEST_CASE("squared distances follow the sum whose mean they are measured from") {
  CHECK(rule_of(variance_graph("200000", "  %q = mul(%d, %d)")) == CascadeRule::kSquaredDistance);
  CHECK(rule_of(variance_graph("199999", "  %q = mul(%d, %d)")) == CascadeRule::kNone);
  CHECK(rule_of(variance_graph("200000", "  %q = abs(%d)")) == CascadeRule::kNone);
}

TEST_CASE("a softmax of long rows reads them twice, of short rows once") {
  const auto streamed = plan_text_graph(softmax_graph(256, 131072));
  REQUIRE(streamed->kernels().size() == 1);
  CHECK(moved_bytes(*streamed) == int64_t{3} * 256 * 131072 * 4);
  for (const int columns : {702, 1023, 32768}) {
    const auto kept = plan_text_graph(softmax_graph(256, columns));
    REQUIRE(kept->kernels().size() == 1);
    CHECK(moved_bytes(*kept) == compulsory_bytes(*kept));
    CHECK(roots_of(kept->stage(), RootKind::kReduce).size() == 2);
    for (const Root* root : roots_of(kept->stage(), RootKind::kReduce)) {
      CHECK(root->cascade.rule == CascadeRule::kNone);
    }
  }
}

TEST_CASE("a logsumexp and a variance of long rows read them once") {
  for (const std::string& text :
       {shifted_graph("  %t = exp(%d)"), variance_graph("200000", "  %q = mul(%d, %d)")}) {
    const auto planned = plan_text_graph(text);
    REQUIRE(planned->kernels().size() == 1);
    CHECK(moved_bytes(*planned) == int64_t{256} * (200000 + 1) * 4);
    CHECK(compulsory_bytes(*planned) == moved_bytes(*planned));
  }
}

TEST_CASE("a logsumexp and a variance of few long rows read them once, with one ticket") {
  for (const auto& [text, elements] :
       {std::pair(shifted_graph("  %t = exp(%d)", 8, 500000), int64_t{8} * 500000),
        std::pair(variance_graph("300000", "  %q = mul(%d, %d)", 16, 300000),
                  int64_t{16} * 300000)}) {
    const auto planned = plan_text_graph(text);
    REQUIRE(planned->plan.steps.size() == 1);
    CHECK(planned->problems() == std::vector<std::string>());
    const Kernel& kernel = *planned->kernels()[0];
    CHECK(kernel.bytes.compulsory - elements * 4 <= 16 * 4);
    CHECK((moved_bytes(*planned) - compulsory_bytes(*planned)) * 200 < elements * 4);
    REQUIRE(kernel.parts.at(0).stages.size() == 2);
    CHECK(kernel.parts[0].stages[1].before == Separation::kTicket);
    CHECK_FALSE(kernel.cooperative);
  }
}

TEST_CASE("a softmax of one long row is one kernel whose blocks meet once") {
  for (const int columns : {131072, 131073, 4 * 32768 + 4, 1000000}) {
    const auto planned = plan_text_graph(softmax_graph(1, columns));
    INFO(columns);
    REQUIRE(planned->plan.steps.size() == 1);
    CHECK(planned->problems() == std::vector<std::string>());
    const Kernel& kernel = *planned->kernels()[0];
    CHECK((moved_bytes(*planned) - compulsory_bytes(*planned)) * 200 < int64_t{columns} * 4);
    REQUIRE(kernel.parts.at(0).stages.size() == 2);
    CHECK(kernel.parts[0].stages[1].before == Separation::kRowBarrier);
  }
  // No multiprocessor holds its part: it is read again behind the barrier.
  const auto streamed = plan_text_graph(softmax_graph(1, 16000000));
  REQUIRE(streamed->plan.steps.size() == 1);
  CHECK(streamed->kernels()[0]->parts.at(0).stages.size() == 2);
  CHECK((moved_bytes(*streamed) - int64_t{3} * 16000000 * 4) < 16000000 / 200);
}

TEST_CASE("parts that are joined before the blocks of the row have met are found") {
  const auto planned = plan_text_graph(softmax_graph(1, 131072));
  REQUIRE(planned->problems() == std::vector<std::string>());
  std::vector<Stage>& stages = std::get<Kernel>(planned->plan.steps.at(0)).parts[0].stages;
  std::vector<Group> behind = stages.at(1).groups;
  stages.pop_back();
  for (Group& group : behind) stages[0].groups.push_back(std::move(group));
  const std::vector<std::string> problems = planned->problems();
  REQUIRE_FALSE(problems.empty());
  CHECK(problems[0].find("is read from scratch in the stage that writes it") != std::string::npos);
}

TEST_CASE("a sum weighted by a softmax is divided once, in the pass of the softmax's own sum") {
  const auto expectation = [](int rows, int columns, const std::string& terms) {
    const std::string type = matrix(rows, columns);
    return shifted_graph("  %e = exp(%d)\n  %n = reduce(%e) {kind=sum, axes=[1]}\n" +
                             std::string("  %nb = broadcast(%n) {axes=[0]} : ") + type + "\n" +
                             terms,
                         rows, columns);
  };
  const std::string weighted = "  %p = div(%e, %nb)\n  %t = mul(%p, %w)";
  for (const auto& [rows, columns] : {std::pair(256, 131072), std::pair(8, 500000)}) {
    const auto planned = plan_text_graph(expectation(rows, columns, weighted));
    REQUIRE(planned->plan.steps.size() == 1);
    CHECK(planned->problems() == std::vector<std::string>());
    CHECK_FALSE(planned->kernels()[0]->cooperative);
    const int64_t bytes = int64_t{2} * rows * columns * 4;
    CHECK(compulsory_bytes(*planned) == bytes + rows * 4);
    CHECK((moved_bytes(*planned) - bytes) * 200 < bytes);
  }
  // A divisor that may be zero stays where it is: the sum waits for it.
  const auto other =
      plan_text_graph(expectation(256, 131072,
                                  "  %g = mul(%e, %w)\n  %o = reduce(%g) {kind=sum, axes=[1]}\n"
                                  "  %ob = broadcast(%o) {axes=[0]} : f32[256,131072]\n"
                                  "  %p = div(%e, %ob)\n  %t = mul(%p, %w)"));
  CHECK(moved_bytes(*other) > compulsory_bytes(*other) * 140 / 100);
}

TEST_CASE("a cascade comes back from the plan's text, and a wrong one is found") {
  const auto planned = plan_text_graph(softmax_graph(256, 131072));
  const std::string text = print_plan(planned->plan);
  CHECK(text.find(" cascade shifted_exp v") != std::string::npos);
  CHECK(print_plan(parse_plan(text, planned->graph)) == text);
  for (Step& step : planned->plan.steps) {
    for (Group& group : std::get<Kernel>(step).parts[0].stages[0].groups) {
      for (Root& root : group.roots) {
        if (root.cascade.rule != CascadeRule::kNone) {
          root.cascade.rule = CascadeRule::kSquaredDistance;
        }
      }
    }
  }
  const std::vector<std::string> problems = planned->problems();
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].find("cannot follow the reduce that it names") != std::string::npos);
}

TEST_CASE("an expectation over a softmax whose kernel is cut is divided where the graph divides") {
  // The second sum runs over the rows of the first: its blocks need all of them.
  const auto planned = plan_text_graph(R"(graph "expectation" {
  input %x "x" : f32[64,100]
  input %v "v" : f32[64,100]
  input %u "u" : f32[5000,64]
  %m = reduce(%x) {kind=max, axes=[1]}
  %mb = broadcast(%m) {axes=[0]} : f32[64,100]
  %d = sub(%x, %mb)
  %e = exp(%d)
  %s = reduce(%e) {kind=sum, axes=[1]}
  %sb = broadcast(%s) {axes=[0]} : f32[64,100]
  %p = div(%e, %sb)
  %w = mul(%p, %v)
  %r = reduce(%w) {kind=sum, axes=[1]}
  %rb = broadcast(%r) {axes=[1]} : f32[5000,64]
  %q = mul(%u, %rb)
  %t = reduce(%q) {kind=sum, axes=[1]}
  output "t" %t
})");
  CHECK(planned->problems().empty());
  CHECK(planned->kernels().size() <= 2);
}
