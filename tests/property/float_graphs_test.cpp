// Random graphs of element-wise work, reductions and moves in every float type: stitched kernels
// are as exact as docs/numerics.md asks of a model.
#include <fmt/format.h>

#include "graph/evaluate.h"
#include "graph/random_graph.h"
#include "graph/text_form.h"
#include "output_check.h"
#include "plan_batch.h"
#include "support/catch.h"
#include "support/make_tensor.h"

using namespace stitch;
using namespace stitch::test;

namespace {

std::unique_ptr<BatchCase> random_case(uint32_t seed, DType dtype, const char* device) {
  // Rows of a warp and of a block, whole vectors and ragged ones.
  constexpr int64_t kRows[] = {6, 1, 33, 5};
  constexpr int64_t kColumns[] = {10, 64, 17, 300};
  Graph graph = random_graph({.seed = seed,
                              .nodes = 24,
                              .inputs = 3,
                              .outputs = 3,
                              .dtype = dtype,
                              .rows = kRows[seed % 4],
                              .columns = kColumns[seed / 4 % 4]});
  std::map<std::string, Tensor> inputs;
  for (const ValueId id : graph.inputs())
    inputs[graph.value(id).name] =
        random_tensor(dtype, constant_extents(graph.type(id).shape), seed * 7 + 1);
  PlanOptions options;
  options.device = device;
  options.contractions = ContractionMode::kOwn;
  return plan_case(
      {fmt::format("{}_{}", long_name(dtype), seed), std::move(graph), std::move(inputs), options});
}

struct Counts {
  int outputs = 0;
  int undecided = 0;  // one rounding decides a floor or a comparison: even op by op is far off fp64
};

void check_floats(const BatchCase& done, Counts& counts) {
  INFO(done.name << "\n" << print_graph(done.graph));
  CHECK(done.faults == std::vector<std::string>());
  const auto fp64 = evaluate(done.graph, done.inputs, EvaluationPrecision::kF64);
  const auto native = evaluate(done.graph, done.inputs, EvaluationPrecision::kNative);
  for (size_t i = 0; i < done.outputs.size(); ++i) {
    const GraphOutput& output = done.graph.outputs()[i];
    const DType rounding = narrowest_rounding(done.graph, output.value);
    const OutputVerdict verdict =
        check_output(output.name, done.outputs[i], {&fp64[i], nullptr, &native[i], rounding});
    ++counts.outputs;
    if (verdict.native.special_differs ||
        verdict.native.max_rel_tensor > recorded_bound(rounding)) {
      ++counts.undecided;
      continue;
    }
    INFO("output " << output.name << ": " << verdict.reason << ", off by "
                   << verdict.ours.max_rel_row << ", op by op by " << verdict.native.max_rel_row);
    CHECK(verdict.passed);
  }
}

void check_seeds(DType dtype, uint32_t count) {
  constexpr const char* kDevices[] = {"a100", "t4", "h100"};
  std::vector<std::unique_ptr<BatchCase>> cases;
  for (uint32_t seed = 1; seed <= count; ++seed)
    cases.push_back(random_case(seed, dtype, kDevices[seed % 3]));
  run_batch(cases, count);
  Counts counts;
  for (const auto& done : cases) check_floats(*done, counts);
  CHECK(bytes_are_as_predicted(cases));
  check_requested_bytes(cases);
  CHECK(counts.undecided * 20 <= counts.outputs);
}

}  // namespace

TEST_CASE("stitched kernels of random f32 graphs are exact enough") {
  check_seeds(DType::kF32, 80);
}

TEST_CASE("stitched kernels of random f16 graphs are exact enough") {
  check_seeds(DType::kF16, 40);
}

TEST_CASE("stitched kernels of random bf16 graphs are exact enough") {
  check_seeds(DType::kBF16, 40);
}

TEST_CASE("stitched kernels of random f64 graphs are exact enough") {
  check_seeds(DType::kF64, 40);
}
