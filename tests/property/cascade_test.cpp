// Sums that follow another reduce in one pass over rows that fit neither registers nor shared
// memory, on the emulated device against the evaluation in f64: rows of -inf, NaN, infinities,
// large offsets, equal numbers, a maximum at the end.
#include <fmt/format.h>

#include <limits>

#include "graph/evaluate.h"
#include "graph/text_form.h"
#include "plan_batch.h"
#include "support/catch.h"
#include "support/make_tensor.h"
#include "support/matches_tensor.h"

using namespace stitch;
using namespace stitch::test;

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
};

// Rows of all kinds by turns.
Tensor hostile_rows(int64_t rows, int64_t columns, bool transposed) {
  Tensor tensor(DType::kF32, transposed ? std::vector<int64_t>{columns, rows}
                                        : std::vector<int64_t>{rows, columns});
  const Tensor ordinary = random_tensor(DType::kF64, {rows, columns}, 5);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const RowKind kind = kKinds[r % std::ssize(kKinds)];
      const double x = ordinary.real(r * columns + c);
      tensor.set_real(transposed ? c * rows + r : r * columns + c, kind(c, columns, x));
    }
  }
  return tensor;
}

// {0}: type of x, {1}: of a row value, {2}: of a column of results; {3}: reduced axis; {4}: the
// other axis; {5}: columns.
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
  %z = constant {{f32[] 2}}
  %zb = broadcast(%z) {{axes=[]}} : {0}
  %v = add(%w, %zb)
  %p = mul(%e, %v)
  %s = reduce(%e) {{kind=sum, axes=[{3}]}}
  %t = reduce(%p) {{kind=sum, axes=[{3}]}}
  %y = div(%t, %s)
  %c = broadcast(%y) {{axes=[0]}} : {2}
  output "y" %c)";
constexpr const char* kVariance = R"(
  %s = reduce(%x) {{kind=sum, axes=[{3}]}}
  %n = constant {{f32[] {5}}}
  %nb = broadcast(%n) {{axes=[]}} : {1}
  %m = div(%s, %nb)
  %mb = broadcast(%m) {{axes=[{4}]}} : {0}
  %d = sub(%x, %mb)
  %q = mul(%d, %d)
  %r = reduce(%q) {{kind=sum, axes=[{3}]}}
  %v = div(%r, %nb)
  %c = broadcast(%v) {{axes=[0]}} : {2}
  output "y" %c)";

std::unique_ptr<BatchCase> make_case(const std::string& title, const char* body, const Tensor& x,
                                     bool transposed) {
  const auto& extents = x.extents();
  const int64_t rows = extents[transposed ? 1 : 0], columns = extents[transposed ? 0 : 1];
  const std::string type = fmt::format("f32[{}]", fmt::join(extents, ","));
  const std::string text = fmt::format(
      "graph \"{}\" {{\n  input %x \"x\" : {}\n{}\n}}\n", title, type,
      fmt::format(fmt::runtime(body), type, fmt::format("f32[{}]", rows),
                  fmt::format("f32[{},1]", rows), transposed ? 0 : 1, transposed ? 1 : 0, columns));
  PlanOptions options;
  options.device = "t4";  // 40 multiprocessors: these rows are not split, and fit nowhere
  return plan_case({title, parse_graph(text), {{"x", x}}, options});
}

size_t followers(const Plan& plan) {
  size_t count = 0;
  for (const Step& step : plan.steps) {
    for (const Part& part : std::get<Kernel>(step).parts) {
      for (const Stage& stage : part.stages) {
        for (const Group& group : stage.groups) {
          for (const Root& root : group.roots) count += root.cascade.rule != CascadeRule::kNone;
        }
      }
    }
  }
  return count;
}

void check(bool transposed, int64_t rows, int64_t columns) {
  const Tensor x = hostile_rows(rows, columns, transposed);
  std::vector<std::unique_ptr<BatchCase>> cases;
  const std::pair<const char*, const char*> bodies[] = {{"logsumexp", kLogSumExp},
                                                        {"softmax", kSoftmax},
                                                        {"weighted", kWeighted},
                                                        {"variance", kVariance}};
  for (const auto& [title, body] : bodies) {
    cases.push_back(make_case(title, body, x, transposed));
    REQUIRE(cases.back() != nullptr);
    INFO(title);
    CHECK(followers(cases.back()->plan) == (body == kWeighted ? 2U : 1U));
    CHECK(cases.back()->plan.steps.size() == 1);
  }
  run_batch(cases, 3);
  for (const auto& done : cases) {
    INFO(done->name << "\n" << done->sources.front().text);
    CHECK(done->faults == std::vector<std::string>());
    const auto expected = evaluate(done->graph, done->inputs, EvaluationPrecision::kF64);
    REQUIRE(done->outputs.size() == 1);
    CHECK_THAT(done->outputs[0], matches_tensor(expected[0]));
  }
}

}  // namespace

TEST_CASE("long rows are reduced in one pass, whatever they hold") { check(false, 24, 41600); }

TEST_CASE("rows whose last vector is cut off are reduced in one pass") { check(false, 24, 41501); }

TEST_CASE("long columns are reduced in one pass, whatever they hold") { check(true, 1024, 2501); }
