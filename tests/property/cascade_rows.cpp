#include "cascade_rows.h"

#include <fmt/format.h>

#include <limits>

#include "graph/evaluate.h"
#include "graph/text_form.h"
#include "support/catch.h"
#include "support/make_tensor.h"
#include "support/matches_tensor.h"

namespace stitch::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

using RowKind = double (*)(int64_t column, int64_t columns, double x);
constexpr RowKind kKinds[] = {
    [](int64_t, int64_t, double x) { return x; },
    [](int64_t, int64_t, double) { return -kInfinity; },
    [](int64_t c, int64_t n, double x) { return c == n / 2 ? x : -kInfinity; },
    [](int64_t c, int64_t n, double x) { return c == n - 1 ? kNan : x; },
    [](int64_t c, int64_t, double x) { return c == 0 ? kInfinity : x; },
    [](int64_t c, int64_t n, double x) { return c < n / 2 ? -kInfinity : x; },
    [](int64_t c, int64_t, double) { return c % 3 == 0 ? 65504.0 : -65504.0; },
    [](int64_t, int64_t, double x) { return x + 4096; },
    [](int64_t, int64_t, double x) { return x - 300; },
    [](int64_t c, int64_t n, double x) {
      return x + 80.0 * static_cast<double>(c) / static_cast<double>(n);
    },
    [](int64_t c, int64_t n, double x) {
      return x - 80.0 * static_cast<double>(c) / static_cast<double>(n);
    },
    [](int64_t, int64_t, double) { return 3.0; },
    [](int64_t, int64_t, double x) { return x + 10000; },
};
static_assert(std::size(kKinds) == kRowKinds);

// {0}: type of x, {1}: of a row value, {2}: of a column of results; {3}: reduced axis; {4}: the
// other axis; {5}: columns; {6}: type of an element.
constexpr const char* kLogSumExp = R"(
  %m = reduce(%x) {{kind=max, axes=[{3}]}}
  %mb = broadcast(%m) {{axes=[{4}]}} : {0}
  %d = sub(%x, %mb)
  %e = exp(%d)
  %s = reduce(%e) {{kind=sum, axes=[{3}]}}
  %l = log(%s)
  %y = add(%l, %m)
  %c = broadcast(%y) {{axes=[0]}} : {2}
  output "y" %c)";
constexpr const char* kFiniteLogSumExp = R"(
  %m = reduce(%x) {{kind=max, axes=[{3}]}}
  %a = abs(%m)
  %i = constant {{{6}[] inf}}
  %ib = broadcast(%i) {{axes=[]}} : {1}
  %f = compare(%a, %ib) {{kind=lt}}
  %z = constant {{{6}[] 0}}
  %zb = broadcast(%z) {{axes=[]}} : {1}
  %h = select(%f, %m, %zb)
  %hb = broadcast(%h) {{axes=[{4}]}} : {0}
  %d = sub(%x, %hb)
  %e = exp(%d)
  %s = reduce(%e) {{kind=sum, axes=[{3}]}}
  %l = log(%s)
  %y = add(%l, %h)
  %c = broadcast(%y) {{axes=[0]}} : {2}
  output "y" %c)";
constexpr const char* kSoftmax = R"(
  %m = reduce(%x) {{kind=max, axes=[{3}]}}
  %mb = broadcast(%m) {{axes=[{4}]}} : {0}
  %d = sub(%x, %mb)
  %e = exp(%d)
  %s = reduce(%e) {{kind=sum, axes=[{3}]}}
  %sb = broadcast(%s) {{axes=[{4}]}} : {0}
  %y = div(%e, %sb)
  output "y" %y)";
constexpr const char* kWeighted = R"(
  %m = reduce(%x) {{kind=max, axes=[{3}]}}
  %mb = broadcast(%m) {{axes=[{4}]}} : {0}
  %d = sub(%x, %mb)
  %e = exp(%d)
  %w = cos(%x)
  %z = constant {{{6}[] 2}}
  %zb = broadcast(%z) {{axes=[]}} : {0}
  %v = add(%w, %zb)
  %p = mul(%e, %v)
  %s = reduce(%e) {{kind=sum, axes=[{3}]}}
  %t = reduce(%p) {{kind=sum, axes=[{3}]}}
  %y = div(%t, %s)
  %c = broadcast(%y) {{axes=[0]}} : {2}
  output "y" %c)";
constexpr const char* kExpectation = R"(
  %m = reduce(%x) {{kind=max, axes=[{3}]}}
  %mb = broadcast(%m) {{axes=[{4}]}} : {0}
  %d = sub(%x, %mb)
  %e = exp(%d)
  %s = reduce(%e) {{kind=sum, axes=[{3}]}}
  %sb = broadcast(%s) {{axes=[{4}]}} : {0}
  %q = div(%e, %sb)
  %w = cos(%x)
  %z = constant {{{6}[] 2}}
  %zb = broadcast(%z) {{axes=[]}} : {0}
  %v = add(%w, %zb)
  %p = mul(%q, %v)
  %y = reduce(%p) {{kind=sum, axes=[{3}]}}
  %c = broadcast(%y) {{axes=[0]}} : {2}
  output "y" %c)";
constexpr const char* kVariance = R"(
  %s = reduce(%x) {{kind=sum, axes=[{3}]}}
  %n = constant {{{6}[] {5}}}
  %nb = broadcast(%n) {{axes=[]}} : {1}
  %m = div(%s, %nb)
  %mb = broadcast(%m) {{axes=[{4}]}} : {0}
  %d = sub(%x, %mb)
  %q = mul(%d, %d)
  %r = reduce(%q) {{kind=sum, axes=[{3}]}}
  %v = div(%r, %nb)
  %c = broadcast(%v) {{axes=[0]}} : {2}
  output "y" %c)";
constexpr const char* kScaled = R"(
  %s = reduce(%x) {{kind=sum, axes=[{3}]}}
  %n = constant {{{6}[] {5}}}
  %nb = broadcast(%n) {{axes=[]}} : {1}
  %m = div(%s, %nb)
  %mb = broadcast(%m) {{axes=[{4}]}} : {0}
  %d = sub(%x, %mb)
  %q = mul(%d, %d)
  %r = reduce(%q) {{kind=sum, axes=[{3}]}}
  %v = div(%r, %nb)
  %o = constant {{{6}[] 0.5}}
  %ob = broadcast(%o) {{axes=[]}} : {1}
  %p = add(%v, %ob)
  %t = sqrt(%p)
  %tb = broadcast(%t) {{axes=[{4}]}} : {0}
  %y = div(%x, %tb)
  output "y" %y)";

}  // namespace

Tensor hostile_rows(DType dtype, int64_t rows, int64_t columns, bool transposed) {
  Tensor tensor(dtype, transposed ? std::vector<int64_t>{columns, rows}
                                  : std::vector<int64_t>{rows, columns});
  const Tensor ordinary = random_tensor(DType::kF64, {rows, columns}, 5);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const RowKind kind = kKinds[r % kRowKinds];
      const double x = ordinary.real(r * columns + c);
      tensor.set_real(transposed ? c * rows + r : r * columns + c, kind(c, columns, x));
    }
  }
  return tensor;
}

const std::vector<CascadeGraph>& cascade_graphs() {
  static const std::vector<CascadeGraph> graphs = {
      {"logsumexp", kLogSumExp, 1, false}, {"finite_logsumexp", kFiniteLogSumExp, 1, false},
      {"weighted", kWeighted, 2, false},   {"expectation", kExpectation, 2, false},
      {"variance", kVariance, 1, false},   {"softmax", kSoftmax, 1, true},
      {"scaled", kScaled, 1, true}};
  return graphs;
}

std::unique_ptr<BatchCase> cascade_case(const CascadeGraph& graph, const Tensor& x, bool transposed,
                                        const std::string& device) {
  const auto& extents = x.extents();
  const int64_t rows = extents[transposed ? 1 : 0], columns = extents[transposed ? 0 : 1];
  const std::string element(name(x.dtype()));
  const std::string type = fmt::format("{}[{}]", element, fmt::join(extents, ","));
  const std::string text =
      fmt::format("graph \"{}\" {{\n  input %x \"x\" : {}\n{}\n}}\n", graph.title, type,
                  fmt::format(fmt::runtime(graph.body), type, fmt::format("{}[{}]", element, rows),
                              fmt::format("{}[{},1]", element, rows), transposed ? 0 : 1,
                              transposed ? 1 : 0, columns, element));
  PlanOptions options;
  options.device = device;
  return plan_case({graph.title, parse_graph(text), {{"x", x}}, options});
}

size_t followers(const Kernel& kernel) {
  size_t count = 0;
  for (const Part& part : kernel.parts) {
    for (const Stage& stage : part.stages) {
      for (const Group& group : stage.groups) {
        for (const Root& root : group.roots) count += root.cascade.rule != CascadeRule::kNone;
      }
    }
  }
  return count;
}

void check_cases(const std::vector<std::unique_ptr<BatchCase>>& cases) {
  run_batch(cases, 3);
  CHECK(bytes_are_as_predicted(cases));
  for (const auto& done : cases) {
    INFO(done->name << "\n" << done->sources.front().text);
    CHECK(done->faults == std::vector<std::string>());
    CHECK(done->plain.off == std::vector<std::string>());
    CHECK(done->choosing.off == std::vector<std::string>());
    const auto expected = evaluate(done->graph, done->inputs, EvaluationPrecision::kF64);
    REQUIRE(done->outputs.size() == 1);
    CHECK_THAT(done->outputs[0], matches_tensor(expected[0]));
  }
}

}  // namespace stitch::test
