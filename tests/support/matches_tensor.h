// A matcher of tensors: per-dtype tolerances relative to the row, first bad index, largest error.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "graph/tensor.h"
#include "support/catch.h"

namespace stitch {

// The bounds of the numerics contract for one kernel; integers and bool are exact.
inline double default_tolerance(DType dtype) {
  if (dtype == DType::kF64) return 1e-12;
  if (dtype == DType::kF32) return 1e-5;
  if (dtype == DType::kF16) return 1e-3;
  if (dtype == DType::kBF16) return 8e-3;
  return 0;
}

struct TensorTolerance {
  // An element may be off by this times the largest finite magnitude of its row (the last axis);
  // negative: the default of the actual tensor's dtype. 0 compares numbers exactly.
  double relative_to_row = -1;
  // Added to it, for rows that should be zero.
  double absolute = 0;
  // Tells -0 from +0.
  bool signed_zeros = false;
};

// Empty when `actual` matches, else what is wrong. NaN matches NaN only, an infinity itself only. A
// wider float type of `expected` (an f64 evaluation) is accepted.
inline std::string explain_mismatch(const Tensor& actual, const Tensor& expected,
                                    TensorTolerance tolerance = {}) {
  const auto type_text = [](const Tensor& tensor) {
    return fmt::format("{}[{}]", name(tensor.dtype()), fmt::join(tensor.extents(), ","));
  };
  const bool types_fit = actual.dtype() == expected.dtype() ||
                         (is_float(actual.dtype()) && expected.dtype() == DType::kF64);
  if (!types_fit || actual.extents() != expected.extents()) {
    return fmt::format("is {}, expected {}", type_text(actual), type_text(expected));
  }
  const double relative =
      tolerance.relative_to_row < 0 ? default_tolerance(actual.dtype()) : tolerance.relative_to_row;
  const int64_t count = actual.element_count();
  const int64_t row = actual.extents().empty() ? 1 : std::max<int64_t>(1, actual.extents().back());
  double magnitude = 0;
  double largest_error = 0;
  int64_t bad = 0;
  std::string first_bad;
  for (int64_t i = 0; i < count; ++i) {
    if (i % row == 0) {
      magnitude = 0;
      for (int64_t j = i; j < i + row; ++j) {
        const double value = std::fabs(expected.real(j));
        if (std::isfinite(value)) magnitude = std::max(magnitude, value);
      }
    }
    const double a = actual.real(i);
    const double e = expected.real(i);
    double error = 0;
    bool matches = false;
    if (!is_float(actual.dtype())) {
      matches = actual.integer(i) == expected.integer(i);
      error = std::fabs(a - e);
    } else if (std::isnan(e) || std::isnan(a)) {
      matches = std::isnan(e) && std::isnan(a);
    } else if (std::isinf(e) || std::isinf(a)) {
      matches = a == e;
    } else {
      error = std::fabs(a - e);
      matches = error <= relative * magnitude + tolerance.absolute;
      if (tolerance.signed_zeros && a == 0 && e == 0) matches = std::signbit(a) == std::signbit(e);
    }
    largest_error = std::max(largest_error, error);
    if (matches) continue;
    if (bad++ == 0) {
      std::string index;
      int64_t rest = i;
      for (size_t axis = actual.extents().size(); axis-- > 0;) {
        index =
            fmt::format("{}{}{}", rest % actual.extents()[axis], index.empty() ? "" : ",", index);
        rest /= actual.extents()[axis];
      }
      first_bad =
          fmt::format("at [{}] is {}, expected {} (row magnitude {})", index, a, e, magnitude);
    }
  }
  if (bad == 0) return "";
  return fmt::format("{}; {} of {} elements differ, largest error {}", first_bad, bad, count,
                     largest_error);
}

class TensorMatcher : public Catch::MatcherBase<Tensor> {
 public:
  TensorMatcher(Tensor expected, TensorTolerance tolerance)
      : expected_(std::move(expected)), tolerance_(tolerance) {}
  bool match(const Tensor& actual) const override {
    mismatch_ = explain_mismatch(actual, expected_, tolerance_);
    return mismatch_.empty();
  }
  std::string describe() const override {
    return mismatch_.empty() ? "matches the expected tensor" : mismatch_;
  }

 private:
  Tensor expected_;
  TensorTolerance tolerance_;
  mutable std::string mismatch_;
};

// REQUIRE_THAT(actual, matches_tensor(expected));
inline TensorMatcher matches_tensor(Tensor expected, TensorTolerance tolerance = {}) {
  return TensorMatcher(std::move(expected), tolerance);
}

}  // namespace stitch
