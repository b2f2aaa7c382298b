// Operators of onnxruntime's domain com.microsoft that fuse norms, products and activations
// (operators.md 2.2).
#include <fmt/format.h>

#include <optional>

#include "frontend/activation_functions.h"
#include "frontend/node_context.h"
#include "frontend/normalisation.h"
#include "frontend/operator_table.h"
#include "frontend/softmax.h"
#include "graph/error.h"

namespace stitch {
namespace {

constexpr std::string_view kMicrosoft = "com.microsoft";

int last_axis(PrimitiveBuilder& b, ValueId x) { return static_cast<int>(b.rank(x)) - 1; }

// scale * norm + bias, the parameters on the last axis.
ValueId scaled_and_shifted(PrimitiveBuilder& b, ValueId norm, ValueId scale,
                           std::optional<ValueId> bias) {
  const ValueId scaled = b.mul(norm, b.cast(scale, b.dtype(norm)));
  return bias ? b.add(scaled, b.cast(*bias, b.dtype(norm))) : scaled;
}

std::optional<ValueId> optional_input(NodeContext& n, size_t i) {
  return n.has_input(i) ? std::optional(n.input(i)) : std::nullopt;
}

// s = x + skip (+ bias), computed in float32.
ValueId skip_sum(NodeContext& n, std::optional<ValueId> bias) {
  PrimitiveBuilder& b = n.builder();
  const DType compute = compute_type(n.dtype(0));
  const ValueId x = b.cast(n.input(0), compute);
  ValueId sum = b.add(x, b.broadcast(b.cast(n.input(1), compute), b.shape(x)));
  if (bias) sum = b.add(sum, b.cast(*bias, compute));
  return sum;
}

// Inputs x, skip, gamma, beta, bias; outputs y, mean, 1/deviation, sum.
void lower_skip_layer_norm(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const ValueId sum = skip_sum(n, optional_input(n, 4));
  const int axis = last_axis(b, sum);
  const Normalised norm = layer_norm(b, sum, axis, n.number("epsilon", 1e-12f));
  n.output(0,
           b.cast(scaled_and_shifted(b, norm.value, n.input(2), optional_input(n, 3)), n.dtype(0)));
  const Shape shape = b.shape(sum);
  if (n.wants_output(1)) n.output(1, kept_axes(b, norm.mean, shape, axis));
  if (n.wants_output(2)) n.output(2, kept_axes(b, norm.inverse_deviation, shape, axis));
  if (n.wants_output(3)) n.output(3, b.cast(sum, n.dtype(0)));
}

// Inputs x, skip, gamma, bias; outputs y, unused, 1/rms, sum.
void lower_skip_simplified_layer_norm(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const ValueId sum = skip_sum(n, optional_input(n, 3));
  const int axis = last_axis(b, sum);
  const Normalised norm = rms_norm(b, sum, axis, n.number("epsilon", 1e-12f));
  n.output(0, b.cast(scaled_and_shifted(b, norm.value, n.input(2), {}), n.dtype(0)));
  if (n.wants_output(2)) n.output(2, kept_axes(b, norm.inverse_deviation, b.shape(sum), axis));
  if (n.wants_output(3)) n.output(3, b.cast(sum, n.dtype(0)));
}

// Inputs ids, segments, word, position, segment embedding, gamma, beta, mask, position ids.
void lower_embed_layer_norm(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const DType dtype = n.dtype(2);
  const DType compute = compute_type(dtype);
  const ValueId ids = n.input(0);
  ValueId sum = b.cast(b.gather(n.input(2), ids, 0), compute);
  ValueId positions;
  if (n.has_input(8)) {
    positions = b.gather(n.input(3), n.input(8), 0);
  } else {
    positions = b.slice_axis(n.input(3), 0, Dim(0), b.dim(ids, 1));
  }
  sum = b.add(sum, b.cast(positions, compute));
  if (n.has_input(1) && n.has_input(4)) {
    sum = b.add(sum, b.cast(b.gather(n.input(4), n.input(1), 0), compute));
  }
  const Normalised norm = layer_norm(b, sum, last_axis(b, sum), n.number("epsilon", 1e-12f));
  n.output(0, b.cast(scaled_and_shifted(b, norm.value, n.input(5), n.input(6)), dtype));
  if (n.wants_output(1)) {
    n.output(1, n.has_input(7) ? b.reduce(ReduceKind::kSum, n.input(7), {1}, false)
                               : b.filled(DType::kI32, 0, {b.dim(ids, 0)}));
  }
  if (n.wants_output(2)) n.output(2, b.cast(sum, dtype));
}

// Channels last unless told otherwise; SiLU on request; parameters in float32.
void lower_group_norm(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const DType dtype = n.dtype(0);
  const bool channels_last = n.integer("channels_last", 1) != 0;
  const int64_t groups = n.required_integer("groups");
  if (n.rank(0) != 4) throw ModelError(fmt::format("input 0 has rank {}, expected 4", n.rank(0)));
  ValueId x = b.cast(n.input(0), compute_type(dtype));
  if (channels_last) x = b.transpose(x, {0, 3, 1, 2});
  const Shape shape = b.shape(x);
  if (groups < 1 || shape[1].constant() % groups != 0) {
    throw ModelError(
        fmt::format("{} channels do not make {} groups", shape[1].to_string(), groups));
  }
  const Dim rest = floordiv(shape[1], Dim(groups)) * shape[2] * shape[3];
  const ValueId grouped = b.reshape(x, {shape[0], groups, rest});
  const Normalised norm = layer_norm(b, grouped, 2, n.number("epsilon", 1e-5f));
  const auto parameter = [&](size_t i) {
    return along_channels(b, b.cast(n.input(i), b.dtype(x)), shape);
  };
  ValueId y = b.add(b.mul(b.reshape(norm.value, shape), parameter(1)), parameter(2));
  if (n.integer("activation", 0) != 0) y = silu(b, y);
  if (channels_last) y = b.transpose(y, {0, 2, 3, 1});
  n.output(0, b.cast(y, dtype));
}

void lower_bias_add(NodeContext& n) {  // x + bias + skip
  PrimitiveBuilder& b = n.builder();
  n.output(0, b.add(b.add(n.input(0), n.input(1)), n.input(2)));
}

void lower_bias_split_gelu(NodeContext& n) {  // left half times gelu of the right half
  PrimitiveBuilder& b = n.builder();
  const DType dtype = n.dtype(0);
  const DType compute = compute_type(dtype);
  const ValueId sum = b.add(b.cast(n.input(0), compute), b.cast(n.input(1), compute));
  const int axis = last_axis(b, sum);
  const Dim half = floordiv(b.dim(sum, axis), Dim(2));
  const ValueId left = b.slice_axis(sum, axis, Dim(0), half);
  const ValueId right = b.slice_axis(sum, axis, half, b.dim(sum, axis));
  n.output(0, b.cast(b.mul(left, gelu(b, right)), dtype));
}

void lower_bias_softmax(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const DType compute = compute_type(n.dtype(0));
  const ValueId x = b.cast(n.input(0), compute);
  if (n.integer("is_inner_broadcast", 1) == 0) {
    throw ModelError("is_inner_broadcast=0 is not supported");
  }
  const ValueId sum = b.add(x, b.cast(n.input(1), compute));
  const int axis = normalise_axis(n.integer("axis", 1), b.rank(x));
  std::vector<int> axes;
  for (int a = axis; a <= last_axis(b, x); ++a) axes.push_back(a);
  n.output(0, b.cast(softmax(b, sum, axes), n.dtype(0)));
}

// The activation that a fused product ends with, by name and positional parameters.
ValueId fused_activation(NodeContext& n, ValueId x) {
  PrimitiveBuilder& b = n.builder();
  const std::string name = n.text("activation", "");
  const std::vector<double> given = n.numbers("activation_params");
  const auto parameter = [&](size_t i, const char* attribute, double absent) {
    return i < given.size() ? given[i] : n.number(attribute, absent);
  };
  if (name.empty()) return x;
  if (name == "Relu") return relu(b, x);
  if (name == "Tanh") return b.unary(Op::k_tanh, x);
  if (name == "Sigmoid") return sigmoid(b, x);
  if (name == "LeakyRelu") return leaky_relu(b, x, parameter(0, "activation_alpha", 0.01f));
  if (name == "HardSigmoid") {
    return hard_sigmoid(b, x, parameter(0, "activation_alpha", 0.2f),
                        parameter(1, "activation_beta", 0.5));
  }
  if (name == "HardSwish") return b.mul(x, hard_sigmoid(b, x, 1.0 / 6, 0.5));
  if (name == "Clip" && given.size() == 2) {
    return b.binary(Op::k_min, b.binary(Op::k_max, x, given[0]), given[1]);
  }
  throw ModelError(fmt::format("activation '{}' is not supported", name));
}

// transBatch moves axis 0 behind the other batch axes; trans swaps the last two.
ValueId matmul_operand(PrimitiveBuilder& b, ValueId x, bool transposed, bool batch_moved) {
  const int rank = static_cast<int>(b.rank(x));
  std::vector<int> perm;
  for (int i = 0; i < rank; ++i) perm.push_back(i);
  if (batch_moved && rank > 2) {
    perm.erase(perm.begin());
    perm.insert(perm.end() - 1, 0);
  }
  if (transposed && rank > 1) {
    std::swap(perm[static_cast<size_t>(rank) - 1], perm[static_cast<size_t>(rank) - 2]);
  }
  return b.transpose(x, perm);
}

void lower_fused_matmul(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const ValueId left =
      matmul_operand(b, n.input(0), n.integer("transA", 0) != 0, n.integer("transBatchA", 0) != 0);
  const ValueId right =
      matmul_operand(b, n.input(1), n.integer("transB", 0) != 0, n.integer("transBatchB", 0) != 0);
  const double alpha = n.number("alpha", 1);
  const ValueId product = b.matmul(left, right);
  n.output(0, fused_activation(n, alpha == 1 ? product : b.mul(product, alpha)));
}

void lower_fused_gemm(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const ValueId left = matmul_operand(b, n.input(0), n.integer("transA", 0) != 0, false);
  const ValueId right = matmul_operand(b, n.input(1), n.integer("transB", 0) != 0, false);
  const double alpha = n.number("alpha", 1);
  const double beta = n.number("beta", 1);
  ValueId y = b.matmul(left, right);
  if (alpha != 1) y = b.mul(y, alpha);
  if (n.has_input(2) && beta != 0) {
    y = b.add(y, beta == 1 ? n.input(2) : b.mul(n.input(2), beta));
  }
  n.output(0, fused_activation(n, y));
}

constexpr OperatorRow kRows[] = {
    {"BiasAdd", 1, lower_bias_add, kMicrosoft},
    {"BiasSoftmax", 1, lower_bias_softmax, kMicrosoft},
    {"BiasSplitGelu", 1, lower_bias_split_gelu, kMicrosoft},
    {"EmbedLayerNormalization", 1, lower_embed_layer_norm, kMicrosoft},
    {"FusedGemm", 1, lower_fused_gemm, kMicrosoft},
    {"FusedMatMul", 1, lower_fused_matmul, kMicrosoft},
    {"FusedMatMulActivation", 1, lower_fused_matmul, kMicrosoft},
    {"GroupNorm", 1, lower_group_norm, kMicrosoft},
    {"SkipLayerNormalization", 1, lower_skip_layer_norm, kMicrosoft},
    {"SkipSimplifiedLayerNormalization", 1, lower_skip_simplified_layer_norm, kMicrosoft},
    {"TransposeMatMul", 1, lower_fused_matmul, kMicrosoft},
};

}  // namespace

std::span<const OperatorRow> contrib_operators() { return kRows; }

}  // namespace stitch
