// The verdict of `verify` on one output: which witness decides, and by how much.
#include "output_check.h"

#include "support/catch.h"
#include "support/make_tensor.h"

namespace stitch {

namespace {

Tensor row(DType dtype, double first, double second) {
  return make_tensor(dtype, {1, 2}, {first, second});
}

// y = cast<f32>(cast<f16>(x) + cast<f16>(x)), z = x + x.
Graph half_inside_of_single() {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {Dim(1), Dim(2)}});
  const ValueType half = {DType::kF16, {Dim(1), Dim(2)}};
  const ValueType single = {DType::kF32, {Dim(1), Dim(2)}};
  const ValueId narrow = graph.add(Op::k_cast, {x}, {}, {}, &half);
  const ValueId sum = graph.add(Op::k_add, {narrow, narrow});
  graph.add_output("y", graph.add(Op::k_cast, {sum}, {}, {}, &single));
  graph.add_output("z", graph.add(Op::k_add, {x, x}));
  return graph;
}

}  // namespace

TEST_CASE("the narrowest rounding is that of computed values on the way to the output") {
  const Graph graph = half_inside_of_single();
  CHECK(narrowest_rounding(graph, graph.outputs()[0].value) == DType::kF16);
  CHECK(narrowest_rounding(graph, graph.outputs()[1].value) == DType::kF32);
}

TEST_CASE("a half-precision input that is widened at once leaves the bound of f32") {
  Graph graph;
  const ValueType single = {DType::kF32, {Dim(1), Dim(2)}};
  const ValueId x = graph.add_input("x", {DType::kF16, {Dim(1), Dim(2)}});
  const ValueId wide = graph.add(Op::k_cast, {x}, {}, {}, &single);
  graph.add_output("y", graph.add(Op::k_exp, {wide}));
  CHECK(narrowest_rounding(graph, graph.outputs()[0].value) == DType::kF32);
}

TEST_CASE("an f32 output passes within 1e-5 or twice the recorded error") {
  const Tensor fp64 = row(DType::kF64, 1.0, 0.5);
  const Tensor native = row(DType::kF32, 1.0, 0.5);
  const Tensor recorded = row(DType::kF32, 1.00002, 0.5);
  const OutputReferences references = {&fp64, &recorded, &native, DType::kF32};
  CHECK(check_output("y", row(DType::kF32, 1.00003, 0.5), references).passed);
  CHECK_FALSE(check_output("y", row(DType::kF32, 1.00005, 0.5), references).passed);
}

TEST_CASE("the evaluation operator by operator does not widen the bound of an f32 model") {
  const Tensor fp64 = row(DType::kF64, 1.0, 0.5);
  const Tensor native = row(DType::kF32, 1.00005, 0.5);
  const Tensor recorded = row(DType::kF32, 1.0, 0.5);
  const OutputVerdict verdict =
      check_output("y", row(DType::kF32, 1.00003, 0.5), {&fp64, &recorded, &native, DType::kF32});
  CHECK_FALSE(verdict.passed);
}

TEST_CASE("a model that rounds to f16 is held to its own evaluation operator by operator") {
  const Tensor fp64 = row(DType::kF64, 1.0, 0.5);
  const Tensor native = row(DType::kF16, 1.001953125, 0.5);
  const Tensor recorded = row(DType::kF16, 1.0, 0.5);
  const OutputReferences references = {&fp64, &recorded, &native, DType::kF16};
  CHECK(check_output("y", row(DType::kF16, 1.00390625, 0.5), references).passed);
  CHECK_FALSE(check_output("y", row(DType::kF16, 1.0048828125, 0.5), references).passed);
}

TEST_CASE("NaN and infinities must stand where fp64 has them") {
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor fp64 = row(DType::kF64, infinity, 0.5);
  const Tensor native = row(DType::kF32, infinity, 0.5);
  const OutputReferences references = {&fp64, nullptr, &native, DType::kF32};
  CHECK(check_output("y", row(DType::kF32, infinity, 0.5), references).passed);
  CHECK_FALSE(check_output("y", row(DType::kF32, -infinity, 0.5), references).passed);
  CHECK_FALSE(check_output("y", row(DType::kF32, 1.0, 0.5), references).passed);
}

TEST_CASE("whole numbers equal the recorded ones exactly") {
  const Tensor fp64 = make_integers(DType::kI64, {2}, {3, 4});
  const Tensor recorded = make_integers(DType::kI64, {2}, {3, 5});
  const OutputReferences references = {&fp64, &recorded, &fp64, DType::kI64};
  CHECK(check_output("y", recorded, references).passed);
  CHECK_FALSE(check_output("y", fp64, references).passed);
}

}  // namespace stitch
