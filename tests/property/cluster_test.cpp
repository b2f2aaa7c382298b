// Rows shared by the blocks of a cluster, on the emulated H100 with every check, against the
// evaluation in f64.
#include <fmt/format.h>

#include "graph/evaluate.h"
#include "graph/text_form.h"
#include "plan_batch.h"
#include "support/catch.h"
#include "support/make_tensor.h"
#include "support/matches_tensor.h"

using namespace stitch;
using namespace stitch::test;

namespace {

// {0}: type of x, {1}: of a row value, {2}: columns, {3}: element type.
constexpr const char* kSoftmax = R"(
  %m = reduce(%x) {{kind=max, axes=[1]}}
  %mb = broadcast(%m) {{axes=[0]}} : {0}
  %d = sub(%x, %mb)
  %e = exp(%d)
  %s = reduce(%e) {{kind=sum, axes=[1]}}
  %sb = broadcast(%s) {{axes=[0]}} : {0}
  %y = div(%e, %sb)
  output "y" %y)";
constexpr const char* kNorm = R"(
  %s = reduce(%x) {{kind=sum, axes=[1]}}
  %n = constant {{{3}[] {2}}}
  %nb = broadcast(%n) {{axes=[]}} : {1}
  %m = div(%s, %nb)
  %mb = broadcast(%m) {{axes=[0]}} : {0}
  %d = sub(%x, %mb)
  %q = mul(%d, %d)
  %r = reduce(%q) {{kind=sum, axes=[1]}}
  %v = div(%r, %nb)
  %h = sqrt(%v)
  %hb = broadcast(%h) {{axes=[0]}} : {0}
  %y = div(%d, %hb)
  output "y" %y
  output "mean" %m
  output "deviation" %h)";
constexpr const char* kLogSumExp = R"(
  %m = reduce(%x) {{kind=max, axes=[1]}}
  %mb = broadcast(%m) {{axes=[0]}} : {0}
  %d = sub(%x, %mb)
  %e = exp(%d)
  %s = reduce(%e) {{kind=sum, axes=[1]}}
  %l = log(%s)
  %y = add(%l, %m)
  output "y" %y)";

std::unique_ptr<BatchCase> make_case(const std::string& title, const char* body, int64_t rows,
                                     int64_t columns, const char* dtype = "f32") {
  const std::string type = fmt::format("{}[{},{}]", dtype, rows, columns);
  const std::string text = fmt::format(
      "graph \"{}\" {{\n  input %x \"x\" : {}\n{}\n}}\n", title, type,
      fmt::format(fmt::runtime(body), type, fmt::format("{}[{}]", dtype, rows), columns, dtype));
  const DType held = std::string(dtype) == "f64"   ? DType::kF64
                     : std::string(dtype) == "f16" ? DType::kF16
                                                   : DType::kF32;
  PlanOptions options;
  options.device = "h100";
  return plan_case(
      {title, parse_graph(text), {{"x", random_tensor(held, {rows, columns}, 11)}}, options});
}

int clusters(const Plan& plan) {
  int count = 0;
  for (const Step& step : plan.steps) count += std::get<Kernel>(step).cluster > 1 ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("rows that clusters share give what the evaluation gives, and no report") {
  std::vector<std::unique_ptr<BatchCase>> cases;
  cases.push_back(make_case("softmax", kSoftmax, 4, 65536));
  cases.push_back(make_case("softmax_odd", kSoftmax, 3, 40001));
  cases.push_back(make_case("softmax_one", kSoftmax, 1, 131072));
  cases.push_back(make_case("softmax_half", kSoftmax, 4, 65536, "f16"));
  cases.push_back(make_case("norm", kNorm, 5, 24576));
  cases.push_back(make_case("norm_odd", kNorm, 2, 30003));
  cases.push_back(make_case("logsumexp", kLogSumExp, 6, 50000));
  cases.push_back(make_case("norm_double", kNorm, 3, 20480, "f64"));
  int in_clusters = 0;
  for (const auto& made : cases) {
    REQUIRE(made != nullptr);
    in_clusters += clusters(made->plan);
  }
  CHECK(in_clusters >= 5);  // some rows are faster at a row barrier or in one large block
  run_batch(cases, 7);
  for (const auto& done : cases) {
    INFO(done->name << "\n" << done->sources.front().text);
    CHECK(done->faults == std::vector<std::string>());
    const auto expected = evaluate(done->graph, done->inputs, EvaluationPrecision::kF64);
    REQUIRE(done->outputs.size() == expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      CHECK_THAT(done->outputs[i], matches_tensor(expected[i]));
    }
  }
  CHECK(bytes_are_as_predicted(cases));
  check_requested_bytes(cases);
}
