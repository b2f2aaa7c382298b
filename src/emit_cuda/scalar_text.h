// The scalar expression of every element-wise primitive: one row per op and kind of type, with the
// meaning of operators.md 1 and the rounding of numerics.md 2.
#pragma once
#include <optional>
#include <vector>

#include "emit_cuda/cuda_text.h"
#include "graph/attributes.h"
#include "graph/dtype.h"
#include "graph/op.h"

namespace stitch {

struct ScalarOperand {
  CudaText text;  // of the register type of `dtype`
  DType dtype = DType::kF32;
  std::optional<double> constant;  // its value where it is a literal
};

struct ScalarContext {
  DType result = DType::kF32;
  // A later rounding to integer must fall as in the unfused model: products and sums that the
  // compiler may not contract (numerics.md 6).
  bool uncontracted = false;
};

// An expression of the register type of `context.result`. InternalError for ops that are not
// element-wise. A division has three forms: (a, b), the reciprocal (b) that a row shares, and
// (a, b, reciprocal).
CudaText scalar_text(Op op, const Attributes& attributes, const ScalarContext& context,
                     const std::vector<ScalarOperand>& operands);

// Conversion between element types (operators.md 7.3).
CudaText cast_text(const CudaText& x, DType from, DType to);

// Combining two values of a reduction: "a + b", "stitch_max_nan(a, b)".
CudaText combine_text(ReduceKind kind, DType dtype, const CudaText& a, const CudaText& b);
// The functor of reduce.cuh that does the same over threads: "StitchSum()".
std::string combine_functor(ReduceKind kind, DType dtype);
// What changes nothing: "0.0f", "-stitch_infinity()".
std::string identity_text(ReduceKind kind, DType dtype);
// The type in which a reduction of `dtype` runs: int for bool and small integers.
DType accumulator(ReduceKind kind, DType dtype);

}  // namespace stitch
