// A matcher that compares tensors within the bounds that their dtype allows.
//
//   CHECK_THAT(result, matches_tensor(expected));
//   CHECK_THAT(result, matches_tensor(expected, {.of_row = 1e-6}));
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "graph/tensor.h"
#include "support/catch.h"

namespace stitch {

struct TensorTolerance {
  // Largest error over the largest finite magnitude of the expected row (the last axis).
  double of_row = 0;
  // Error that passes whatever the row.
  double absolute = 0;
};

// Bounds of one kernel, docs/numerics.md: f32 1e-5, f16 1e-3, bf16 8e-3, f64 1e-13 of the row;
// integers and bool are equal.
TensorTolerance default_tolerance(DType dtype);

struct TensorDifference {
  int64_t outside = 0;      // elements beyond the tolerance
  int64_t first = -1;       // flat index of the first of them
  double max_absolute = 0;  // over the elements that are finite on both sides
  double max_of_row = 0;
};

// Extents must be equal. NaN equals NaN only; an infinity equals itself only; -0 equals 0.
TensorDifference difference(const Tensor& actual, const Tensor& expected,
                            TensorTolerance tolerance);

class MatchesTensor : public Catch::MatcherBase<Tensor> {
 public:
  MatchesTensor(Tensor expected, std::optional<TensorTolerance> tolerance);

  bool match(const Tensor& actual) const override;
  std::string describe() const override;

 private:
  Tensor expected_;
  std::optional<TensorTolerance> tolerance_;
  mutable std::string finding_;  // what the last match found, for describe()
};

// Dtypes are equal, or both are floating: then the tolerance is that of the actual tensor's.
MatchesTensor matches_tensor(Tensor expected, std::optional<TensorTolerance> tolerance = {});

}  // namespace stitch
