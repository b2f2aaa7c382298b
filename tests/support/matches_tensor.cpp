#include "support/matches_tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace stitch {
namespace {

std::string type_text(const Tensor& tensor) {
  return fmt::format("{}[{}]", name(tensor.dtype()), fmt::join(tensor.extents(), ","));
}

std::string value_text(const Tensor& tensor, int64_t index) {
  return is_float(tensor.dtype()) ? fmt::format("{:.9g}", tensor.real(index))
                                  : fmt::format("{}", tensor.integer(index));
}

std::string index_text(int64_t flat, const std::vector<int64_t>& extents) {
  std::vector<int64_t> index(extents.size());
  for (size_t axis = extents.size(); axis-- > 0;) {
    index[axis] = flat % extents[axis];
    flat /= extents[axis];
  }
  return fmt::format("[{}]", fmt::join(index, ","));
}

// Zero for a row without finite elements.
double row_magnitude(const Tensor& tensor, int64_t begin, int64_t end) {
  double magnitude = 0;
  for (int64_t i = begin; i < end; ++i) {
    const double value = std::fabs(tensor.real(i));
    if (std::isfinite(value)) magnitude = std::max(magnitude, value);
  }
  return magnitude;
}

// `bound` is the largest error that passes.
bool floats_match(double actual, double expected, double bound, bool signed_zeros) {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) == std::isnan(actual);
  if (std::isinf(expected) || std::isinf(actual)) return actual == expected;
  if (signed_zeros && actual == 0 && expected == 0) {
    return std::signbit(actual) == std::signbit(expected);
  }
  return std::fabs(actual - expected) <= bound;
}

struct Difference {
  int64_t bad = 0;     // elements that do not match
  int64_t first = -1;  // flat index of the first of them
  double largest = 0;  // error, over the elements that are finite on both sides
};

// The tolerance holds no default any more.
Difference difference(const Tensor& actual, const Tensor& expected, TensorTolerance tolerance) {
  Difference result;
  const int64_t count = actual.element_count();
  const int64_t row = actual.extents().empty() ? 1 : actual.extents().back();
  for (int64_t begin = 0; begin < count; begin += row) {
    const double bound = tolerance.relative_to_row * row_magnitude(expected, begin, begin + row) +
                         tolerance.absolute;
    for (int64_t i = begin; i < begin + row; ++i) {
      const double a = actual.real(i);
      const double e = expected.real(i);
      if (std::isfinite(a) && std::isfinite(e)) {
        result.largest = std::max(result.largest, std::fabs(a - e));
      }
      const bool matches = is_float(actual.dtype())
                               ? floats_match(a, e, bound, tolerance.signed_zeros)
                               : actual.integer(i) == expected.integer(i);
      if (!matches && result.bad++ == 0) result.first = i;
    }
  }
  return result;
}

}  // namespace

double default_tolerance(DType dtype) {
  if (dtype == DType::kF64) return 1e-12;
  if (dtype == DType::kF32) return 1e-5;
  if (dtype == DType::kF16) return 1e-3;
  if (dtype == DType::kBF16) return 8e-3;
  return 0;
}

std::string explain_mismatch(const Tensor& actual, const Tensor& expected,
                             TensorTolerance tolerance) {
  const bool types_fit = actual.dtype() == expected.dtype() ||
                         (is_float(actual.dtype()) && expected.dtype() == DType::kF64);
  if (!types_fit || actual.extents() != expected.extents()) {
    return fmt::format("is {} where {} is expected", type_text(actual), type_text(expected));
  }
  if (tolerance.relative_to_row < 0) {
    tolerance.relative_to_row = default_tolerance(actual.dtype());
  }
  const Difference found = difference(actual, expected, tolerance);
  if (found.bad == 0) return "";
  return fmt::format(
      "{} of {} elements differ, first at {}: {} where {} is expected; largest error {:.3g}",
      found.bad, actual.element_count(), index_text(found.first, actual.extents()),
      value_text(actual, found.first), value_text(expected, found.first), found.largest);
}

TensorMatcher::TensorMatcher(Tensor expected, TensorTolerance tolerance)
    : expected_(std::move(expected)), tolerance_(tolerance) {}

bool TensorMatcher::match(const Tensor& actual) const {
  mismatch_ = explain_mismatch(actual, expected_, tolerance_);
  return mismatch_.empty();
}

std::string TensorMatcher::describe() const {
  return mismatch_.empty() ? "matches the expected tensor" : mismatch_;
}

TensorMatcher matches_tensor(Tensor expected, TensorTolerance tolerance) {
  return {std::move(expected), tolerance};
}

}  // namespace stitch
