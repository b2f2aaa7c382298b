// Properties that hold for any graph, tried on random ones.
#include "graph/random_graph.h"

#include "graph/evaluate.h"
#include "graph/passes.h"
#include "graph/text_form.h"
#include "graph/validate.h"
#include "support/catch.h"
#include "support/make_tensor.h"
#include "support/matches_tensor.h"

using namespace stitch;

namespace {

std::map<std::string, Tensor> inputs_of(const Graph& graph, uint32_t seed) {
  std::map<std::string, Tensor> inputs;
  for (const ValueId input : graph.inputs()) {
    inputs[graph.value(input).name] =
        random_tensor(graph.type(input).dtype, constant_extents(graph.type(input).shape), seed++);
  }
  return inputs;
}

}  // namespace

TEST_CASE("any graph prints and parses back") {
  for (uint32_t seed = 1; seed <= 30; ++seed) {
    const Graph graph = random_graph({.seed = seed});
    validate(graph);
    const std::string text = print_graph(graph);
    const Graph parsed = parse_graph(text);
    validate(parsed);
    INFO("seed " << seed);
    REQUIRE(print_graph(parsed) == text);
  }
}

TEST_CASE("the passes keep every bit of any graph's results") {
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    for (uint32_t seed = 1; seed <= 60; ++seed) {
      const Graph before = random_graph({.seed = seed, .dtype = dtype});
      const Graph after = run_passes(before);
      const auto inputs = inputs_of(before, seed);
      const auto expected = evaluate(before, inputs, EvaluationPrecision::kNative);
      const auto actual = evaluate(after, inputs, EvaluationPrecision::kNative);
      for (size_t i = 0; i < expected.size(); ++i) {
        INFO("seed " << seed << " of " << name(dtype) << ", output " << i);
        REQUIRE_THAT(actual[i],
                     matches_tensor(expected[i], {.relative_to_row = 0, .signed_zeros = true}));
      }
    }
  }
}

TEST_CASE("f64 evaluation agrees with native evaluation of the same graph in f64") {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    const Graph graph = random_graph({.seed = seed, .dtype = DType::kF64});
    const auto inputs = inputs_of(graph, seed);
    const auto native = evaluate(graph, inputs, EvaluationPrecision::kNative);
    const auto wide = evaluate(graph, inputs, EvaluationPrecision::kF64);
    for (size_t i = 0; i < native.size(); ++i) {
      INFO("seed " << seed << ", output " << i);
      REQUIRE_THAT(wide[i], matches_tensor(native[i], {.relative_to_row = 0}));
    }
  }
}
