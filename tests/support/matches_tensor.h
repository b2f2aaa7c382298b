// A matcher of tensors: per-dtype tolerances relative to the row, first bad index, largest error.
//
//   CHECK_THAT(result, matches_tensor(expected));
//   CHECK_THAT(result, matches_tensor(expected, {.relative_to_row = 1e-6}));
#pragma once
#include <string>

#include "graph/tensor.h"
#include "support/catch.h"

namespace stitch {

// The bounds of docs/numerics.md for one kernel; integers and bool are exact.
double default_tolerance(DType dtype);

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
std::string explain_mismatch(const Tensor& actual, const Tensor& expected,
                             TensorTolerance tolerance = {});

class TensorMatcher : public Catch::MatcherBase<Tensor> {
 public:
  TensorMatcher(Tensor expected, TensorTolerance tolerance);
  bool match(const Tensor& actual) const override;
  std::string describe() const override;

 private:
  Tensor expected_;
  TensorTolerance tolerance_;
  mutable std::string mismatch_;  // of the last match, for describe()
};

TensorMatcher matches_tensor(Tensor expected, TensorTolerance tolerance = {});

}  // namespace stitch
