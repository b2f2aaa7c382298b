#include "frontend/activation_functions.h"

#include <cmath>
#include <numbers>

namespace stitch {

ValueId sigmoid(PrimitiveBuilder& b, ValueId x) {
  return b.div(1.0, b.add(b.unary(Op::k_exp, b.unary(Op::k_neg, x)), 1.0));
}

ValueId softplus(PrimitiveBuilder& b, ValueId x) {
  const ValueId decay = b.unary(Op::k_exp, b.unary(Op::k_neg, b.unary(Op::k_abs, x)));
  return b.add(b.binary(Op::k_max, x, 0.0), b.unary(Op::k_log1p, decay));
}

ValueId silu(PrimitiveBuilder& b, ValueId x, double alpha) {
  return b.mul(x, sigmoid(b, alpha == 1.0 ? x : b.mul(x, alpha)));
}

ValueId gelu(PrimitiveBuilder& b, ValueId x) {
  const ValueId erf = b.unary(Op::k_erf, b.mul(x, std::numbers::sqrt2 / 2));
  return b.mul(b.mul(x, 0.5), b.add(erf, 1.0));
}

ValueId gelu_tanh(PrimitiveBuilder& b, ValueId x) {
  const ValueId cube = b.mul(b.mul(x, x), x);
  const ValueId inner = b.mul(b.add(x, b.mul(cube, 0.044715)), std::sqrt(2 / std::numbers::pi));
  return b.mul(b.mul(x, 0.5), b.add(b.unary(Op::k_tanh, inner), 1.0));
}

ValueId relu(PrimitiveBuilder& b, ValueId x) { return b.binary(Op::k_max, x, 0.0); }

ValueId leaky_relu(PrimitiveBuilder& b, ValueId x, double alpha) {
  return b.select(b.compare(CompareKind::kLt, x, 0.0), b.mul(x, alpha), x);
}

ValueId elu(PrimitiveBuilder& b, ValueId x, double alpha) {
  const ValueId below = b.mul(b.unary(Op::k_expm1, x), alpha);
  return b.select(b.compare(CompareKind::kLt, x, 0.0), below, x);
}

ValueId hard_sigmoid(PrimitiveBuilder& b, ValueId x, double alpha, double beta) {
  const ValueId line = b.add(b.mul(x, alpha), beta);
  return b.binary(Op::k_max, b.binary(Op::k_min, line, 1.0), 0.0);
}

}  // namespace stitch
