// Products with vectors and what lies between them in one kernel, on the emulated A100 with every
// check, against the evaluation in f64.
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

// {0}: columns k, {1}: results n. A norm that a product reads, then a residual of the norm.
constexpr const char* kNormProduct = R"(graph "norm" {{
  input %x "x" : f32[1,{0}]
  input %g "g" : f32[{0}]
  input %wt "w" : f32[{1},{0}]
  input %b "b" : f32[{1}]
  %w = transpose(%wt) {{perm=[1,0]}}
  %n = constant {{f32[] {0}}}
  %nb = broadcast(%n) {{axes=[]}} : f32[1]
  %s = reduce(%x) {{kind=sum, axes=[1]}}
  %m = div(%s, %nb)
  %mb = broadcast(%m) {{axes=[0]}} : f32[1,{0}]
  %d = sub(%x, %mb)
  %q = mul(%d, %d)
  %r = reduce(%q) {{kind=sum, axes=[1]}}
  %v = div(%r, %nb)
  %h = sqrt(%v)
  %hb = broadcast(%h) {{axes=[0]}} : f32[1,{0}]
  %z = div(%d, %hb)
  %gb = broadcast(%g) {{axes=[1]}} : f32[1,{0}]
  %y = mul(%z, %gb)
  %p = matmul(%y, %w) : f32[1,{1}]
  %bb = broadcast(%b) {{axes=[1]}} : f32[1,{1}]
  %a = add(%p, %bb)
  %t = abs(%a)
  output "t" %t
{2}}})";

// One query per head against keys and values: {0} heads, {1} keys, {2} elements.
constexpr const char* kAttention = R"(graph "attention" {{
  input %q "q" : f32[{0},1,{2}]
  input %k "k" : f32[{0},{1},{2}]
  input %v "v" : f32[{0},{1},{2}]
  %kt = transpose(%k) {{perm=[0,2,1]}}
  %s = matmul(%q, %kt) : f32[{0},1,{1}]
  %m = reduce(%s) {{kind=max, axes=[2]}}
  %mb = broadcast(%m) {{axes=[0,1]}} : f32[{0},1,{1}]
  %d = sub(%s, %mb)
  %e = exp(%d)
  %t = reduce(%e) {{kind=sum, axes=[2]}}
  %tb = broadcast(%t) {{axes=[0,1]}} : f32[{0},1,{1}]
  %p = div(%e, %tb)
  %o = matmul(%p, %v) : f32[{0},1,{2}]
  output "o" %o
}})";

// A step of an LSTM; {0}: elements of the state, {1} to {3}: where the gates begin, {4}: their end,
// {5} and {6}: the state before and behind it.
constexpr const char* kStep = R"(
  %p{6} = matmul(%h{5}, %w) : f32[1,{4}]
  %a{6} = add(%p{6}, %b)
  %qi{6} = slice(%a{6}) {{starts=[0,0], limits=[1,{1}], steps=[1,1]}}
  %qf{6} = slice(%a{6}) {{starts=[0,{1}], limits=[1,{2}], steps=[1,1]}}
  %qg{6} = slice(%a{6}) {{starts=[0,{2}], limits=[1,{3}], steps=[1,1]}}
  %qo{6} = slice(%a{6}) {{starts=[0,{3}], limits=[1,{4}], steps=[1,1]}}
  %i{6} = tanh(%qi{6})
  %f{6} = tanh(%qf{6})
  %g{6} = tanh(%qg{6})
  %o{6} = tanh(%qo{6})
  %fc{6} = mul(%f{6}, %c{5})
  %ig{6} = mul(%i{6}, %g{6})
  %c{6} = add(%fc{6}, %ig{6})
  %t{6} = tanh(%c{6})
  %h{6} = mul(%o{6}, %t{6}))";

std::string cell(int state, int steps) {
  std::string text = fmt::format(
      "graph \"cell\" {{\n  input %h0 \"h\" : f32[1,{0}]\n  input %c0 \"c\" : f32[1,{0}]\n"
      "  input %v \"v\" : f32[{1},{0}]\n  input %b \"b\" : f32[1,{1}]\n"
      "  %w = transpose(%v) {{perm=[1,0]}}",
      state, 4 * state);
  for (int i = 0; i < steps; ++i) {
    text +=
        fmt::format(fmt::runtime(kStep), state, state, 2 * state, 3 * state, 4 * state, i, i + 1);
  }
  return text + fmt::format("\n  output \"h\" %h{0}\n  output \"c\" %c{0}\n}}", steps);
}

std::unique_ptr<BatchCase> make_case(const std::string& name, const std::string& text,
                                     Techniques techniques = {}) {
  Graph graph = parse_graph(text);
  std::map<std::string, Tensor> inputs;
  uint32_t seed = 1;
  for (const ValueId input : graph.inputs()) {
    inputs.emplace(graph.value(input).name,
                   random_tensor(DType::kF32, constant_extents(graph.type(input).shape), seed++));
  }
  PlanOptions options;
  options.device = "a100";
  options.contractions = ContractionMode::kOwn;
  options.techniques = techniques;
  return plan_case({name, std::move(graph), std::move(inputs), options});
}

void check(const std::vector<std::unique_ptr<BatchCase>>& cases) {
  run_batch(cases, 7);
  for (const auto& done : cases) {
    INFO(done->name);
    CHECK(done->faults == std::vector<std::string>());
    const std::vector<Tensor> expected =
        evaluate(done->graph, done->inputs, EvaluationPrecision::kF64);
    for (size_t i = 0; i < done->outputs.size(); ++i) {
      INFO("output " << done->graph.outputs()[i].name);
      CHECK_THAT(done->outputs[i], matches_tensor(expected[i]));
    }
  }
  CHECK(bytes_are_as_predicted(cases));
  check_requested_bytes(cases);
}

}  // namespace

TEST_CASE("a norm is computed by every block of the product that reads it") {
  std::vector<std::unique_ptr<BatchCase>> cases;
  const auto add = [&](int k, int n, const std::string& more) {
    const std::string name = fmt::format("norm_{}_{}_{}", k, n, more.size());
    cases.push_back(make_case(name, fmt::format(fmt::runtime(kNormProduct), k, n, more)));
    REQUIRE(cases.back());
    CHECK(cases.back()->plan.steps.size() == 1);
  };
  add(256, 1024, "");
  add(768, 2304, "");
  add(300, 1001, "");  // blocks of rows are ragged, vectors are not whole
  add(257, 640, "");
  // One block stores what all compute.
  add(256, 1024, "  output \"y\" %y\n");
  add(300, 1001, "  output \"y\" %y\n  output \"h\" %h\n");
  check(cases);
}

TEST_CASE("products with vectors and the softmax between them are one kernel") {
  std::vector<std::unique_ptr<BatchCase>> cases;
  const auto add = [&](int heads, int keys, int elements, size_t kernels) {
    const std::string name = fmt::format("attention_{}_{}_{}", heads, keys, elements);
    const std::string text = fmt::format(fmt::runtime(kAttention), heads, keys, elements);
    cases.push_back(make_case(name, text));
    REQUIRE(cases.back());
    CHECK(cases.back()->plan.steps.size() == kernels);
    Techniques without;
    without.leave_out(Technique::kChains);
    const auto apart = make_case(name + "_apart", text, without);
    REQUIRE(apart);
    CHECK(apart->plan.steps.size() > kernels);
    CHECK(predicted_us(cases.back()->plan) < predicted_us(apart->plan));
  };
  add(12, 129, 64, 1);
  add(8, 33, 40, 1);
  add(16, 250, 128, 2);  // the second product is spread over more blocks than there are heads
  check(cases);
}

TEST_CASE("the product and the gates of a step of a recurrent cell are one kernel") {
  std::vector<std::unique_ptr<BatchCase>> cases;
  const auto add = [&](int state, int steps) {
    cases.push_back(make_case(fmt::format("cell_{}_{}", state, steps), cell(state, steps)));
    REQUIRE(cases.back());
    CHECK(cases.back()->plan.steps.size() <= static_cast<size_t>(steps));
  };
  add(256, 1);
  add(200, 1);
  add(100, 2);
  add(33, 2);
  check(cases);
}
