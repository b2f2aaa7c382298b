// Edge cases of single operators, evaluated after import.
#include <cmath>
#include <limits>

#include "frontend/model_builder.h"
#include "support/catch.h"

namespace stitch {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct OneNode {
  std::string op;
  std::vector<TestAttribute> attributes = {};
  int64_t opset = 17;
};

// The first output of one node on tensors a, b, c ...
Tensor apply(const OneNode& node, const std::vector<Tensor>& operands) {
  ModelBuilder model(node.opset);
  std::vector<std::string> names;
  std::vector<std::pair<std::string, Tensor>> inputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    names.emplace_back(1, static_cast<char>('a' + i));
    std::vector<std::string> dims;
    for (const int64_t extent : operands[i].extents()) dims.push_back(std::to_string(extent));
    model.input(names.back(), operands[i].dtype(), dims);
    inputs.emplace_back(names.back(), operands[i]);
  }
  model.node(node.op, names, {"y"}, node.attributes).output("y");
  return model.run(inputs)[0];
}

}  // namespace

TEST_CASE("Mod takes the sign of the divisor, fmod that of the dividend") {
  const Tensor a = i64({4}, {-7, 7, -7, 6});
  const Tensor b = i64({4}, {3, -3, -3, 3});
  CHECK(reals(apply({"Mod"}, {a, b})) == std::vector<double>{2, -2, -1, 0});
  CHECK(reals(apply({"Mod", {{"fmod", int64_t{1}}}}, {a, b})) == std::vector<double>{-1, 1, -1, 0});
}

TEST_CASE("Clip with crossed bounds gives the upper one and keeps NaN") {
  const Tensor result = apply({"Clip"}, {f32({3}, {-5, 5, kNaN}), f32({}, {2}), f32({}, {1})});
  CHECK(result.real(0) == 1);
  CHECK(result.real(1) == 1);
  CHECK(std::isnan(result.real(2)));
}

TEST_CASE("Clip of opset 6 bounds infinities by the largest float") {
  const Tensor result = apply({"Clip", {}, 7}, {f32({2}, {-kInf, kInf})});
  CHECK(result.real(1) == static_cast<double>(std::numeric_limits<float>::max()));
  CHECK(result.real(0) == -static_cast<double>(std::numeric_limits<float>::max()));
}

TEST_CASE("comparisons are false on NaN, swapped ones too") {
  const Tensor nan = f32({1}, {kNaN});
  const Tensor one = f32({1}, {1});
  for (const char* op : {"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"}) {
    INFO(op);
    CHECK(apply({op}, {nan, one}).integer(0) == 0);
    CHECK(apply({op}, {one, nan}).integer(0) == 0);
  }
}

TEST_CASE("Where does not let the other branch leak") {
  Tensor condition(DType::kBool, {2});
  condition.set_integer(0, 1);
  CHECK(reals(apply({"Where"}, {condition, f32({2}, {1, kNaN}), f32({2}, {kNaN, 2})})) ==
        std::vector<double>{1, 2});
}

TEST_CASE("Softmax before opset 13 normalises all axes from its own on") {
  const Tensor x = f32({1, 2, 2}, {0, 0, 0, 0});
  CHECK(apply({"Softmax", {}, 12}, {x}).real(0) == 0.25);
  CHECK(apply({"Softmax", {}, 13}, {x}).real(0) == 0.5);
}

TEST_CASE("ReduceLogSumExp of infinities is infinite, not NaN") {
  const OneNode node{"ReduceLogSumExp", {{"keepdims", int64_t{0}}}};
  CHECK(apply(node, {f32({2}, {-kInf, -kInf})}).real(0) == -kInf);
  CHECK(apply(node, {f32({2}, {kInf, 1})}).real(0) == kInf);
  CHECK(apply(node, {f32({2}, {1000, 1000})}).real(0) == Approx(1000 + std::log(2)));
}

TEST_CASE("a mean of float16 does not overflow in its sum") {
  Tensor x(DType::kF16, {4});
  for (int64_t i = 0; i < 4; ++i) x.set_real(i, 60000);
  CHECK(apply({"ReduceMean"}, {x}).real(0) == 60000);
}

TEST_CASE("Slice counts negative bounds from the end and runs backwards") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"5"})
      .initializer("starts", i64({1}, {-1}))
      .initializer("ends", i64({1}, {std::numeric_limits<int32_t>::min()}))
      .initializer("axes", i64({1}, {0}))
      .initializer("steps", i64({1}, {-2}))
      .node("Slice", {"x", "starts", "ends", "axes", "steps"}, {"y"})
      .output("y");
  CHECK(reals(model.run({{"x", f32({5}, {0, 1, 2, 3, 4})}})[0]) == std::vector<double>{4, 2, 0});
}

TEST_CASE("Pad crops by negative amounts before it adds") {
  ModelBuilder model;
  model.input("x", DType::kF32, {"4"})
      .initializer("pads", i64({2}, {-1, 2}))
      .node("Pad", {"x", "pads"}, {"y"}, {{"mode", std::string("edge")}})
      .output("y");
  CHECK(reals(model.run({{"x", f32({4}, {1, 2, 3, 4})}})[0]) == std::vector<double>{2, 3, 4, 4, 4});
}

TEST_CASE("indices count from the end once") {
  CHECK(reals(apply({"Gather"}, {f32({3}, {10, 20, 30}), i64({3}, {-1, 0, -3})})) ==
        std::vector<double>{30, 10, 10});
}

TEST_CASE("AveragePool divides by the cells inside the input") {
  const std::vector<TestAttribute> window = {{"kernel_shape", std::vector<int64_t>{2}},
                                             {"pads", std::vector<int64_t>{1, 1}}};
  const Tensor x = f32({1, 1, 3}, {2, 4, 6});
  CHECK(reals(apply({"AveragePool", window}, {x})) == std::vector<double>{2, 3, 5, 6});
  auto padded = window;
  padded.push_back({"count_include_pad", int64_t{1}});
  CHECK(reals(apply({"AveragePool", padded}, {x})) == std::vector<double>{1, 3, 5, 3});
}

TEST_CASE("ceil_mode drops a window that would start beyond the input") {
  const std::vector<TestAttribute> window = {{"kernel_shape", std::vector<int64_t>{1}},
                                             {"strides", std::vector<int64_t>{2}},
                                             {"ceil_mode", int64_t{1}}};
  CHECK(apply({"MaxPool", window}, {f32({1, 1, 4}, {1, 2, 3, 4})}).extents() ==
        std::vector<int64_t>{1, 1, 2});
}

TEST_CASE("Gemm with beta 0 does not read C") {
  const OneNode node{"Gemm", {{"beta", 0.0f}}};
  CHECK(reals(apply(node, {f32({1, 1}, {2}), f32({1, 1}, {3}), f32({1}, {kNaN})})) ==
        std::vector<double>{6});
}

TEST_CASE("Einsum takes diagonals, transposes and sums") {
  const Tensor x = f32({2, 2}, {1, 2, 3, 4});
  const auto einsum = [&](const char* equation, const std::vector<Tensor>& operands) {
    return reals(apply({"Einsum", {{"equation", std::string(equation)}}}, operands));
  };
  CHECK(einsum("ii->i", {x}) == std::vector<double>{1, 4});
  CHECK(einsum("ij->ji", {x}) == std::vector<double>{1, 3, 2, 4});
  CHECK(einsum("ij->", {x}) == std::vector<double>{10});
  CHECK(einsum("ij,jk->ik", {x, x}) == std::vector<double>{7, 10, 15, 22});
  CHECK(einsum("i,j->ij", {f32({2}, {1, 2}), f32({2}, {3, 4})}) == std::vector<double>{3, 4, 6, 8});
}

TEST_CASE("quantisation divides, rounds halves to even and saturates") {
  const Tensor scale = f32({}, {0.1f});
  Tensor zero(DType::kU8, {});
  const Tensor x = f32({5}, {0.35f, 0.45f, 0.15f, 100, -1});
  CHECK(reals(apply({"QuantizeLinear"}, {x, scale, zero})) == std::vector<double>{4, 4, 2, 255, 0});
}

}  // namespace stitch
