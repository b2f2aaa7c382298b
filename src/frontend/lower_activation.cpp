// Activation operators.
#include "frontend/activation_functions.h"
#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "frontend/widened.h"
#include "graph/error.h"

namespace stitch {
namespace {

template <class F>
void lower(NodeContext& n, const F& f) {
  PrimitiveBuilder& b = n.builder();
  n.output(0, widened(b, n.input(0), f));
}

void lower_relu(NodeContext& n) { n.output(0, relu(n.builder(), n.input(0))); }

void lower_sigmoid(NodeContext& n) {
  lower(n, [&](ValueId x) { return sigmoid(n.builder(), x); });
}

void lower_softplus(NodeContext& n) {
  lower(n, [&](ValueId x) { return softplus(n.builder(), x); });
}

void lower_softsign(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  lower(n, [&](ValueId x) { return b.div(x, b.add(b.unary(Op::k_abs, x), 1.0)); });
}

void lower_leaky_relu(NodeContext& n) {
  lower(n, [&](ValueId x) { return leaky_relu(n.builder(), x, n.number("alpha", 0.01f)); });
}

void lower_prelu(NodeContext& n) {  // the slope broadcasts to x, never the other way
  PrimitiveBuilder& b = n.builder();
  const ValueId x = n.input(0);
  const ValueId slope = b.broadcast(n.input(1), b.shape(x));
  n.output(0, b.select(b.compare(CompareKind::kLt, x, 0.0), b.mul(x, slope), x));
}

void lower_elu(NodeContext& n) {
  lower(n, [&](ValueId x) { return elu(n.builder(), x, n.number("alpha", 1.0)); });
}

void lower_selu(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const double alpha = n.number("alpha", 1.67326319217681884765625f);
  const double gamma = n.number("gamma", 1.05070102214813232421875f);
  lower(n, [&](ValueId x) {
    const ValueId below = b.mul(b.unary(Op::k_expm1, x), alpha);
    return b.mul(b.select(b.compare(CompareKind::kLt, b.scalar(b.dtype(x), 0.0), x), x, below),
                 gamma);
  });
}

void lower_celu(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const double alpha = n.number("alpha", 1.0);
  lower(n, [&](ValueId x) {
    const ValueId below = b.mul(b.unary(Op::k_expm1, b.div(x, alpha)), alpha);
    return b.add(b.binary(Op::k_max, x, 0.0), b.binary(Op::k_min, below, 0.0));
  });
}

void lower_hard_sigmoid(NodeContext& n) {
  const double alpha = n.number("alpha", 0.2f);
  const double beta = n.number("beta", 0.5);
  lower(n, [&](ValueId x) { return hard_sigmoid(n.builder(), x, alpha, beta); });
}

void lower_hard_swish(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  lower(n, [&](ValueId x) { return b.mul(x, hard_sigmoid(b, x, 1.0 / 6, 0.5)); });
}

void lower_thresholded_relu(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const ValueId x = n.input(0);
  const ValueId alpha = b.scalar(b.dtype(x), n.number("alpha", 1.0));
  const ValueId above = b.compare(CompareKind::kLt, alpha, x);
  n.output(0, b.select(above, x, b.scalar(b.dtype(x), 0.0)));
}

void lower_shrink(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const double bias = n.number("bias", 0.0);
  const double lambd = n.number("lambd", 0.5);
  const DType dtype = n.dtype(0);
  const DType compute = is_float(dtype) ? compute_type(dtype) : DType::kF32;
  const ValueId x = b.cast(n.input(0), compute);
  const ValueId above = b.compare(CompareKind::kLt, b.scalar(compute, lambd), x);
  const ValueId inner = b.select(above, b.sub(x, bias), b.scalar(compute, 0.0));
  const ValueId below = b.compare(CompareKind::kLt, x, -lambd);
  n.output(0, b.cast(b.select(below, b.add(x, bias), inner), dtype));
}

void lower_gelu(NodeContext& n) {
  const std::string approximate = n.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    throw ModelError("attribute 'approximate' is neither none nor tanh");
  }
  lower(n, [&](ValueId x) {
    return approximate == "none" ? gelu(n.builder(), x) : gelu_tanh(n.builder(), x);
  });
}

void lower_mish(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  lower(n, [&](ValueId x) { return b.mul(x, b.unary(Op::k_tanh, softplus(b, x))); });
}

void lower_swish(NodeContext& n) {
  lower(n, [&](ValueId x) { return silu(n.builder(), x, n.number("alpha", 1.0)); });
}

void lower_swiglu(NodeContext& n) {  // A * sigmoid(alpha * A) * B
  PrimitiveBuilder& b = n.builder();
  const ValueId gate = n.input(0);
  const DType compute = compute_type(b.dtype(gate));
  const ValueId swish = silu(b, b.cast(gate, compute), n.number("alpha", 1.0));
  n.output(0, b.cast(b.mul(swish, b.cast(n.input(1), compute)), b.dtype(gate)));
}

void lower_quick_gelu(NodeContext& n) {
  lower(n, [&](ValueId x) { return silu(n.builder(), x, n.number("alpha", 1.702f)); });
}

// com.microsoft: x + bias first, where there is one.
template <ValueId (*activation)(PrimitiveBuilder&, ValueId)>
void lower_biased(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const DType dtype = n.dtype(0);
  ValueId x = b.cast(n.input(0), compute_type(dtype));
  if (n.has_input(1)) x = b.add(x, b.cast(n.input(1), compute_type(dtype)));
  n.output(0, b.cast(activation(b, x), dtype));
}

constexpr std::string_view kMicrosoft = "com.microsoft";

constexpr OperatorRow kRows[] = {
    {"Celu", 12, lower_celu},
    {"Elu", 6, lower_elu},
    {"Gelu", 20, lower_gelu},
    {"HardSigmoid", 6, lower_hard_sigmoid},
    {"HardSwish", 14, lower_hard_swish},
    {"LeakyRelu", 6, lower_leaky_relu},
    {"Mish", 18, lower_mish},
    {"PRelu", 7, lower_prelu},
    {"Relu", 6, lower_relu},
    {"Selu", 6, lower_selu},
    {"Shrink", 9, lower_shrink},
    {"Sigmoid", 6, lower_sigmoid},
    {"Softplus", 1, lower_softplus},
    {"Softsign", 1, lower_softsign},
    {"SwiGLU", 28, lower_swiglu},
    {"Swish", 24, lower_swish},
    {"ThresholdedRelu", 10, lower_thresholded_relu},
    {"BiasGelu", 1, lower_biased<gelu>, kMicrosoft},
    {"FastGelu", 1, lower_biased<gelu_tanh>, kMicrosoft},
    {"Gelu", 1, lower_biased<gelu>, kMicrosoft},
    {"QuickGelu", 1, lower_quick_gelu, kMicrosoft},
};

}  // namespace

std::span<const OperatorRow> activation_operators() { return kRows; }

}  // namespace stitch
