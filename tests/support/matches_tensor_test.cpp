#include "support/matches_tensor.h"

#include <cmath>
#include <limits>

#include "support/catch.h"
#include "support/make_tensor.h"

namespace stitch {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor row(const std::vector<double>& values) {
  return make_tensor(DType::kF32, {static_cast<int64_t>(values.size())}, values);
}

bool matches(const Tensor& actual, const Tensor& expected) {
  return matches_tensor(expected).match(actual);
}

}  // namespace

TEST_CASE("an error is measured against the magnitude of its row") {
  const Tensor expected = make_tensor(DType::kF32, {2, 2}, {100.0, 0.0, 1.0, 0.0});
  CHECK(matches(make_tensor(DType::kF32, {2, 2}, {100.0, 9e-4, 1.0, 9e-6}), expected));
  CHECK_FALSE(matches(make_tensor(DType::kF32, {2, 2}, {100.0, 9e-4, 1.0, 1.1e-5}), expected));
}

TEST_CASE("each dtype has its tolerance") {
  const auto off_by = [](DType dtype, double error) {
    return matches(make_tensor(dtype, {1}, {1.0 + error}), make_tensor(DType::kF64, {1}, {1.0}));
  };
  CHECK(off_by(DType::kF16, 0.9e-3));
  CHECK_FALSE(off_by(DType::kF16, 2e-3));
  CHECK(off_by(DType::kBF16, 7.9e-3));
  CHECK_FALSE(off_by(DType::kBF16, 1.6e-2));
  CHECK(off_by(DType::kF32, 0.9e-5));
  CHECK_FALSE(off_by(DType::kF32, 1.2e-5));
  CHECK_FALSE(off_by(DType::kF64, 1e-11));
}

TEST_CASE("NaN and infinities match themselves only") {
  CHECK(matches(row({kNan, kInfinity, -kInfinity}), row({kNan, kInfinity, -kInfinity})));
  CHECK_FALSE(matches(row({1.0}), row({kNan})));
  CHECK_FALSE(matches(row({kNan}), row({1.0})));
  CHECK_FALSE(matches(row({kInfinity}), row({-kInfinity})));
  CHECK_FALSE(matches(row({1.0}), row({kInfinity})));
  CHECK(matches(row({-0.0}), row({0.0})));
  CHECK_FALSE(matches_tensor(row({0.0}), {.signed_zeros = true}).match(row({-0.0})));
}

TEST_CASE("an infinity in a row does not widen the tolerance of the others") {
  CHECK_FALSE(matches(row({kInfinity, 1.1}), row({kInfinity, 1.0})));
}

TEST_CASE("integers are equal to the last bit") {
  constexpr int64_t kBig = (int64_t{1} << 53) + 1;
  const Tensor expected = Tensor::of_integers(DType::kI64, {kBig});
  CHECK(matches(Tensor::of_integers(DType::kI64, {kBig}), expected));
  CHECK_FALSE(matches(Tensor::of_integers(DType::kI64, {kBig - 1}), expected));
}

TEST_CASE("tensors of other extents or kind do not match") {
  CHECK_FALSE(matches(make_tensor(DType::kF32, {2, 1}, {1, 2}), row({1, 2})));
  CHECK_FALSE(matches(Tensor::of_integers(DType::kI32, {1, 2}), row({1, 2})));
  CHECK(matches(Tensor(DType::kF32, {0, 4}), Tensor(DType::kF32, {0, 4})));
  CHECK(matches(Tensor(DType::kF32, {4, 0}), Tensor(DType::kF32, {4, 0})));
}

TEST_CASE("a mismatch names the first bad index and the largest error") {
  const auto matcher = matches_tensor(make_tensor(DType::kF32, {2, 2}, {1.0, 2.0, 4.0, 8.0}));
  REQUIRE_FALSE(matcher.match(make_tensor(DType::kF32, {2, 2}, {1.0, 2.0, 5.0, 10.0})));
  CHECK(matcher.describe() ==
        "2 of 4 elements differ, first at [1,0]: 5 where 4 is expected; largest error 2");
}

TEST_CASE("an absolute tolerance is added to that of the row") {
  const TensorTolerance tolerance{.relative_to_row = 0, .absolute = 0.5};
  CHECK(matches_tensor(row({0.0, 0.0}), tolerance).match(row({0.5, 0.0})));
  CHECK_FALSE(matches_tensor(row({0.0, 0.0}), tolerance).match(row({0.6, 0.0})));
}

}  // namespace stitch
