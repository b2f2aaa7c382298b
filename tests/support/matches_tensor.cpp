#include "support/matches_tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace stitch {
namespace {

int64_t row_length(const Tensor& tensor) {
  return tensor.extents().empty() ? 1 : tensor.extents().back();
}

// Zero for a row without finite elements.
double row_magnitude(const Tensor& tensor, int64_t begin, int64_t end) {
  double magnitude = 0;
  for (int64_t i = begin; i < end; ++i) {
    const double value = std::abs(tensor.real(i));
    if (std::isfinite(value)) magnitude = std::max(magnitude, value);
  }
  return magnitude;
}

bool equal_when_not_finite(double actual, double expected) {
  if (std::isnan(expected)) return std::isnan(actual);
  return actual == expected;
}

std::vector<int64_t> coordinates(int64_t flat, const std::vector<int64_t>& extents) {
  std::vector<int64_t> index(extents.size());
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    index[axis] = flat % extents[axis];
    flat /= extents[axis];
  }
  return index;
}

std::string type_text(const Tensor& tensor) {
  return fmt::format("{}[{}]", name(tensor.dtype()), fmt::join(tensor.extents(), ","));
}

std::string value_text(const Tensor& tensor, int64_t index) {
  return is_float(tensor.dtype()) ? fmt::format("{:.9g}", tensor.real(index))
                                  : fmt::format("{}", tensor.integer(index));
}

// Integers beyond 2^53 differ even where their doubles do not.
bool exact_and_different(const Tensor& actual, const Tensor& expected, int64_t index) {
  return !is_float(actual.dtype()) && actual.integer(index) != expected.integer(index);
}

}  // namespace

TensorTolerance default_tolerance(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {.of_row = 1e-12};
    case DType::kF32:
      return {.of_row = 1e-5};
    case DType::kF16:
      return {.of_row = 1e-3};
    case DType::kBF16:
      return {.of_row = 8e-3};
    case DType::kBool:
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
      return {};
  }
  return {};
}

TensorDifference difference(const Tensor& actual, const Tensor& expected,
                            TensorTolerance tolerance) {
  TensorDifference result;
  const auto reject = [&](int64_t index) {
    if (result.outside++ == 0) result.first = index;
  };
  const int64_t length = row_length(expected);
  for (int64_t row = 0; row < expected.element_count(); row += length) {
    const double magnitude = row_magnitude(expected, row, row + length);
    for (int64_t i = row; i < row + length; ++i) {
      const double got = actual.real(i);
      const double wanted = expected.real(i);
      if (!std::isfinite(got) || !std::isfinite(wanted)) {
        if (!equal_when_not_finite(got, wanted)) reject(i);
        continue;
      }
      const double error = std::abs(got - wanted);
      result.max_absolute = std::max(result.max_absolute, error);
      if (error > 0) result.max_of_row = std::max(result.max_of_row, error / magnitude);
      const bool within = error <= std::max(tolerance.absolute, tolerance.of_row * magnitude);
      if (!within || exact_and_different(actual, expected, i)) reject(i);
    }
  }
  return result;
}

MatchesTensor::MatchesTensor(Tensor expected, std::optional<TensorTolerance> tolerance)
    : expected_(std::move(expected)), tolerance_(tolerance) {}

bool MatchesTensor::match(const Tensor& actual) const {
  const bool same_kind = actual.dtype() == expected_.dtype() ||
                         (is_float(actual.dtype()) && is_float(expected_.dtype()));
  if (!same_kind || actual.extents() != expected_.extents()) {
    finding_ = fmt::format("is {}", type_text(actual));
    return false;
  }
  const TensorDifference found =
      difference(actual, expected_, tolerance_.value_or(default_tolerance(actual.dtype())));
  if (found.outside == 0) {
    finding_ = "equal";
    return true;
  }
  finding_ = fmt::format(
      "{} of {} elements differ, first at [{}]: {} where {} is expected; largest error {:.3g}, "
      "{:.3g} of its row",
      found.outside, expected_.element_count(),
      fmt::join(coordinates(found.first, expected_.extents()), ","),
      value_text(actual, found.first), value_text(expected_, found.first), found.max_absolute,
      found.max_of_row);
  return false;
}

std::string MatchesTensor::describe() const {
  return fmt::format("matches {}: {}", type_text(expected_), finding_);
}

MatchesTensor matches_tensor(Tensor expected, std::optional<TensorTolerance> tolerance) {
  return {std::move(expected), tolerance};
}

}  // namespace stitch
