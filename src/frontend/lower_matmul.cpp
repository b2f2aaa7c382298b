// MatMul and Gemm.
#include <fmt/format.h>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "graph/error.h"

namespace stitch {
namespace {

void lower_matmul(NodeContext& n) { n.output(0, n.builder().matmul(n.input(0), n.input(1))); }

// factor * x; integers by way of float32, truncated (operators.md 4.2).
ValueId scaled(PrimitiveBuilder& b, ValueId x, double factor) {
  if (factor == 1.0) return x;
  if (is_float(b.dtype(x))) return b.mul(x, factor);
  return b.cast(b.mul(b.cast(x, DType::kF32), factor), b.dtype(x));
}

ValueId matrix_operand(NodeContext& n, size_t i, bool transposed) {
  PrimitiveBuilder& b = n.builder();
  const ValueId x = n.input(i);
  if (b.rank(x) != 2) {
    throw ModelError(fmt::format("input {} has rank {}, expected 2", i, b.rank(x)));
  }
  return transposed ? b.transpose(x, {1, 0}) : x;
}

void lower_gemm(NodeContext& n) {  // alpha * A * B + beta * C
  PrimitiveBuilder& b = n.builder();
  const ValueId left = matrix_operand(n, 0, n.integer("transA", 0) != 0);
  const ValueId right = matrix_operand(n, 1, n.integer("transB", 0) != 0);
  ValueId result = scaled(b, b.matmul(left, right), n.number("alpha", 1.0));
  const double beta = n.number("beta", 1.0);
  if (n.has_input(2) && beta != 0.0) {  // beta 0: C is not read, be it NaN
    const ValueId c = b.broadcast(n.input(2), b.shape(result));
    result = b.add(result, scaled(b, c, beta));
  }
  n.output(0, result);
}

constexpr OperatorRow kRows[] = {
    {"Gemm", 6, lower_gemm},
    {"MatMul", 1, lower_matmul},
};

}  // namespace

std::span<const OperatorRow> matmul_operators() { return kRows; }

}  // namespace stitch
