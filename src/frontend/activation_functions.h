// Activation functions as expressions of primitives; shared by operators that apply one inside.
// Operands are in the type of the computation: widening halves is the caller's.
#pragma once
#include "frontend/primitive_builder.h"

namespace stitch {

ValueId sigmoid(PrimitiveBuilder& b, ValueId x);   // 1 / (1 + exp(-x))
ValueId softplus(PrimitiveBuilder& b, ValueId x);  // log(1 + exp(x)), without overflow
ValueId silu(PrimitiveBuilder& b, ValueId x, double alpha = 1.0);  // x * sigmoid(alpha * x)
ValueId gelu(PrimitiveBuilder& b, ValueId x);                      // by erf
ValueId gelu_tanh(PrimitiveBuilder& b, ValueId x);                 // the tanh approximation
ValueId relu(PrimitiveBuilder& b, ValueId x);
ValueId leaky_relu(PrimitiveBuilder& b, ValueId x, double alpha);
ValueId elu(PrimitiveBuilder& b, ValueId x, double alpha);
ValueId hard_sigmoid(PrimitiveBuilder& b, ValueId x, double alpha, double beta);

}  // namespace stitch
