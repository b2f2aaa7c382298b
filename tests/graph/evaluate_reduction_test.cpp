#include <cmath>
#include <limits>

#include "graph/run_text.h"
#include "support/catch.h"
#include "support/make_tensor.h"
#include "support/matches_tensor.h"

using namespace stitch;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Tensor run_on(const Tensor& x, const std::string& node) {
  std::string type = std::string(name(x.dtype())) + "[";
  for (size_t i = 0; i < x.extents().size(); ++i) {
    type += (i == 0 ? "" : ",") + std::to_string(x.extents()[i]);
  }
  return run_text("input %x \"x\" : " + type + "]\n%y = " + node + "\noutput \"y\" %y",
                  {{"x", x}})[0];
}

Tensor floats(std::vector<int64_t> extents, const std::vector<double>& values) {
  return make_tensor(DType::kF32, std::move(extents), values);
}

}  // namespace

TEST_CASE("reductions over any axes agree with a plain loop") {
  const Tensor x = random_tensor(DType::kF64, {3, 5, 4, 37}, 3);
  for (const std::vector<int>& axes :
       std::vector<std::vector<int>>{{0}, {1}, {3}, {0, 2}, {1, 3}, {2, 3}, {0, 1, 2, 3}, {0, 3}}) {
    std::vector<int64_t> kept;
    std::string list;
    for (int axis = 0; axis < 4; ++axis) {
      const bool reduced = std::find(axes.begin(), axes.end(), axis) != axes.end();
      if (!reduced) kept.push_back(x.extents()[static_cast<size_t>(axis)]);
      if (reduced) list += (list.empty() ? "" : ", ") + std::to_string(axis);
    }
    Tensor expected(DType::kF64, kept);
    for (int64_t i = 0; i < x.element_count(); ++i) {
      int64_t rest = i, target = 0, stride = 1;
      for (size_t axis = 4; axis-- > 0;) {
        const int64_t index = rest % x.extents()[axis];
        rest /= x.extents()[axis];
        if (std::find(axes.begin(), axes.end(), static_cast<int>(axis)) != axes.end()) continue;
        target += index * stride;
        stride *= x.extents()[axis];
      }
      expected.set_real(target, expected.real(target) + x.real(i));
    }
    INFO("axes " << list);
    REQUIRE_THAT(run_on(x, "reduce(%x) {kind=sum, axes=[" + list + "]}"),
                 matches_tensor(expected, {.absolute = 1e-11}));
  }
}

TEST_CASE("reductions of nothing give the identity") {
  const Tensor empty(DType::kF32, {2, 0});
  REQUIRE_THAT(run_on(empty, "reduce(%x) {kind=sum, axes=[1]}"),
               matches_tensor(floats({2}, {0, 0})));
  REQUIRE_THAT(run_on(empty, "reduce(%x) {kind=prod, axes=[1]}"),
               matches_tensor(floats({2}, {1, 1})));
  REQUIRE_THAT(run_on(empty, "reduce(%x) {kind=max, axes=[1]}"),
               matches_tensor(floats({2}, {-kInf, -kInf})));
  REQUIRE_THAT(run_on(Tensor(DType::kI32, {0}), "reduce(%x) {kind=min, axes=[0]}"),
               matches_tensor(make_integers(DType::kI32, {}, {2147483647})));
  REQUIRE(run_on(empty, "reduce(%x) {kind=sum, axes=[0]}").element_count() == 0);
}

TEST_CASE("NaN survives min and max wherever it stands; bool reduces to any and all") {
  for (const int64_t at : {0, 1, 15, 16, 33, 39}) {
    Tensor x = random_tensor(DType::kF32, {40}, 5);
    x.set_real(at, kNaN);
    REQUIRE(std::isnan(run_on(x, "reduce(%x) {kind=max, axes=[0]}").real(0)));
    REQUIRE(std::isnan(run_on(x, "reduce(%x) {kind=min, axes=[0]}").real(0)));
  }
  const Tensor flags = make_tensor(DType::kBool, {2, 2}, {0, 1, 0, 0});
  REQUIRE_THAT(run_on(flags, "reduce(%x) {kind=max, axes=[1]}"),
               matches_tensor(make_tensor(DType::kBool, {2}, {1, 0})));
  REQUIRE_THAT(run_on(flags, "reduce(%x) {kind=min, axes=[0]}"),
               matches_tensor(make_tensor(DType::kBool, {2}, {0, 0})));
}

TEST_CASE("half sums accumulate in f32 and integer sums wrap") {
  Tensor ones(DType::kF16, {4096});
  for (int64_t i = 0; i < 4096; ++i) ones.set_real(i, 1);
  REQUIRE(run_on(ones, "reduce(%x) {kind=sum, axes=[0]}").real(0) == 4096);  // f16 stops at 2048
  REQUIRE(
      run_on(make_integers(DType::kI32, {2}, {2147483647, 1}), "reduce(%x) {kind=sum, axes=[0]}")
          .integer(0) == -2147483648ll);
  REQUIRE(run_on(make_integers(DType::kI64, {2}, {int64_t{1} << 40, 1}),
                 "reduce(%x) {kind=sum, axes=[0]}")
              .integer(0) == (int64_t{1} << 40) + 1);
}

TEST_CASE("argreduce takes the first or last of equals, and NaN before numbers") {
  const Tensor ties = floats({2, 4}, {1, 3, 3, 0, 2, 2, 2, 2});
  const auto indices = [](const std::vector<int64_t>& values) {
    return matches_tensor(
        make_integers(DType::kI64, {static_cast<int64_t>(values.size())}, values));
  };
  REQUIRE_THAT(run_on(ties, "argreduce(%x) {kind=max, axis=1}"), indices({1, 0}));
  REQUIRE_THAT(run_on(ties, "argreduce(%x) {kind=max, axis=1, last=true}"), indices({2, 3}));
  REQUIRE_THAT(run_on(ties, "argreduce(%x) {kind=min, axis=0}"), indices({0, 1, 1, 0}));
  const Tensor nan = floats({5}, {1, kNaN, 9, kNaN, kInf});
  REQUIRE_THAT(run_on(nan, "argreduce(%x) {kind=max, axis=0}"),
               matches_tensor(make_integers(DType::kI64, {}, {1})));
  REQUIRE_THAT(run_on(nan, "argreduce(%x) {kind=min, axis=0, last=true}"),
               matches_tensor(make_integers(DType::kI64, {}, {3})));
}

TEST_CASE("a softmax chain on a row of -inf gives NaN, on one finite element 1") {
  const std::string softmax =
      "input %x \"x\" : f32[3,3]\n%m = reduce(%x) {kind=max, axes=[1]}\n"
      "%b = broadcast(%m) {axes=[0]} : f32[3,3]\n%d = sub(%x, %b)\n%e = exp(%d)\n"
      "%s = reduce(%e) {kind=sum, axes=[1]}\n%t = broadcast(%s) {axes=[0]} : f32[3,3]\n"
      "%y = div(%e, %t)\noutput \"y\" %y";
  const Tensor x = floats({3, 3}, {-kInf, -kInf, -kInf, -kInf, 7, -kInf, 65504, 65504, -65504});
  REQUIRE_THAT(run_text(softmax, {{"x", x}})[0],
               matches_tensor(floats({3, 3}, {kNaN, kNaN, kNaN, 0, 1, 0, 0.5, 0.5, 0})));
}

TEST_CASE("windows see the identity in their padding") {
  const Tensor x = floats({1, 4}, {-1, -2, -3, -4});
  const std::string window = "kernel=[3], strides=[2], dilations=[1], low=[1], high=[1]}";
  REQUIRE_THAT(run_on(x, "reduce_window(%x) {kind=max, " + window),
               matches_tensor(floats({1, 2}, {-1, -2})));
  REQUIRE_THAT(run_on(x, "reduce_window(%x) {kind=sum, " + window),
               matches_tensor(floats({1, 2}, {-3, -9})));
  REQUIRE_THAT(run_on(x, "argwindow(%x) {kind=max, " + window),
               matches_tensor(make_integers(DType::kI64, {1, 2}, {0, 1})));
  const Tensor plane = floats({1, 3, 3}, {1, 2, 3, 4, kNaN, 6, 9, 8, 9});
  const std::string square =
      "kernel=[2, 2], strides=[1, 1], dilations=[2, 2], low=[0, 0], high=[1, 1]}";
  REQUIRE_THAT(run_on(plane, "reduce_window(%x) {kind=max, " + square),
               matches_tensor(floats({1, 2, 2}, {9, 8, 6, kNaN})));
  REQUIRE_THAT(run_on(plane, "argwindow(%x) {kind=max, " + square),
               matches_tensor(make_integers(DType::kI64, {1, 2, 2}, {6, 7, 5, 4})));
}

TEST_CASE("cumulative sums run in both directions, with or without the own element") {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  REQUIRE_THAT(run_on(x, "cumulative(%x) {kind=sum, axis=1}"),
               matches_tensor(floats({2, 3}, {1, 3, 6, 4, 9, 15})));
  REQUIRE_THAT(run_on(x, "cumulative(%x) {kind=sum, axis=1, exclusive=true, reverse=true}"),
               matches_tensor(floats({2, 3}, {5, 3, 0, 11, 6, 0})));
  REQUIRE_THAT(run_on(x, "cumulative(%x) {kind=prod, axis=0}"),
               matches_tensor(floats({2, 3}, {1, 2, 3, 4, 10, 18})));
}

TEST_CASE("top_k puts NaN first and equal values in index order") {
  const auto run = [](const Tensor& x, const std::string& attributes) {
    return run_text("input %x \"x\" : f32[5]\n%v, %i = top_k(%x) {axis=0, " + attributes +
                        "}\noutput \"v\" %v\noutput \"i\" %i",
                    {{"x", x}});
  };
  const Tensor x = floats({5}, {2, kNaN, 5, 2, -kInf});
  const std::vector<Tensor> largest = run(x, "k=4");
  REQUIRE_THAT(largest[0], matches_tensor(floats({4}, {kNaN, 5, 2, 2})));
  REQUIRE_THAT(largest[1], matches_tensor(make_integers(DType::kI64, {4}, {1, 2, 0, 3})));
  const std::vector<Tensor> smallest = run(x, "k=5, largest=false");
  REQUIRE_THAT(smallest[0], matches_tensor(floats({5}, {-kInf, 2, 2, 5, kNaN})));
  REQUIRE_THAT(smallest[1], matches_tensor(make_integers(DType::kI64, {5}, {4, 0, 3, 2, 1})));
}
