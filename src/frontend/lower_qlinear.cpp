// Operators on quantised operands: QLinearConv, and onnxruntime's QLinear, QGemm, MatMulInteger and
// MatMulNBits forms (operators.md 2.2 and 4.8).
#include <fmt/format.h>

#include <numeric>
#include <optional>

#include "frontend/activation_functions.h"
#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "frontend/quantisation.h"
#include "frontend/softmax.h"
#include "frontend/window_geometry.h"
#include "graph/error.h"

namespace stitch {
namespace {

constexpr std::string_view kMicrosoft = "com.microsoft";

std::optional<ValueId> optional_input(NodeContext& n, size_t i) {
  return n.has_input(i) ? std::optional(n.input(i)) : std::nullopt;
}

ValueId scalar_input(NodeContext& n, size_t i) { return n.builder().reshape(n.input(i), {}); }

// Input i as float32, its scale and zero point behind it.
ValueId dequantised(NodeContext& n, size_t i) {
  QuantisationParameters p{scalar_input(n, i + 1), {}};
  if (n.has_input(i + 2)) p.zero_point = scalar_input(n, i + 2);
  return dequantise(n.builder(), n.input(i), p);
}

ValueId requantised(NodeContext& n, ValueId y, size_t scale, size_t zero_point) {
  PrimitiveBuilder& b = n.builder();
  QuantisationParameters p{scalar_input(n, scale), {}};
  if (n.has_input(zero_point)) p.zero_point = scalar_input(n, zero_point);
  return quantise(b, y, p, n.has_input(zero_point) ? n.dtype(zero_point) : n.dtype(0));
}

// A vector of one value for each output channel, or a scalar, for [n, m, spatial...].
ValueId by_output_channel(PrimitiveBuilder& b, ValueId p, const Shape& shape) {
  if (element_count(b.shape(p)) == Dim(1)) return b.broadcast(b.reshape(p, {}), shape);
  return b.broadcast_axes(p, shape, {1});
}

// Inputs x, sx, zx, w, sw, zw, sy, zy, bias; the bias is int32 at scale sx * sw.
void lower_qlinear_conv(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  if (n.integer("channels_last", 0) != 0) throw ModelError("channels_last is not supported");
  const ValueId x = less_zero_point(b, n.input(0), scalar_input(n, 2));
  ValueId w_zero = n.input(5);
  if (!(element_count(b.shape(w_zero)) == Dim(1))) {
    w_zero = b.broadcast_axes(w_zero, n.shape(3), {0});
  } else {
    w_zero = b.reshape(w_zero, {});
  }
  const ValueId w = less_zero_point(b, n.input(3), w_zero);
  const std::vector<int64_t> xs = constant_extents(b.shape(x));
  const std::vector<int64_t> ws = constant_extents(b.shape(w));
  if (xs.size() < 3 || ws.size() != xs.size()) throw ModelError("operands of unequal or low rank");
  const WindowGeometry g =
      window_geometry(n, {xs.begin() + 2, xs.end()}, {ws.begin() + 2, ws.end()});
  ConvAttributes attributes;
  attributes.strides = g.strides;
  attributes.dilations = g.dilations;
  attributes.low = g.low;
  attributes.high = g.high;
  attributes.groups = n.integer("group", 1);
  attributes.accumulate = DType::kI32;
  ValueId sum = b.node(Op::k_conv, {x, w}, attributes);
  const Shape shape = b.shape(sum);
  if (n.has_input(8)) sum = b.add(sum, b.broadcast_axes(n.input(8), shape, {1}));
  const ValueId factor = b.div(b.mul(scalar_input(n, 1), n.input(4)), scalar_input(n, 6));
  const ValueId y = b.mul(b.cast(sum, DType::kF32), by_output_channel(b, factor, shape));
  n.output(0, quantise(b, y, {b.scalar(DType::kF32, 1), scalar_input(n, 7)}, n.dtype(7)));
}

// Inputs a, sa, za, b, sb, zb, sy, zy.
template <Op op>
void lower_qlinear_binary(NodeContext& n) {
  n.output(0, requantised(n, n.builder().binary(op, dequantised(n, 0), dequantised(n, 3)), 6, 7));
}

void lower_qlinear_sigmoid(NodeContext& n) {
  n.output(0, requantised(n, sigmoid(n.builder(), dequantised(n, 0)), 3, 4));
}

void lower_qlinear_leaky_relu(NodeContext& n) {
  const ValueId y = leaky_relu(n.builder(), dequantised(n, 0), n.number("alpha", 0.01f));
  n.output(0, requantised(n, y, 3, 4));
}

void lower_qlinear_softmax(NodeContext& n) {
  const int axis = normalise_axis(n.integer("axis", -1), n.rank(0));
  std::vector<int> axes = {axis};
  if (n.integer("opset", 13) < 13) {
    for (int a = axis + 1; a < static_cast<int>(n.rank(0)); ++a) axes.push_back(a);
  }
  n.output(0, requantised(n, softmax(n.builder(), dequantised(n, 0), axes), 3, 4));
}

// Inputs y scale, y zero point, then (x, scale, zero point) for each part.
void lower_qlinear_concat(NodeContext& n) {
  std::vector<ValueId> parts;
  for (size_t i = 2; i + 1 < n.input_count(); i += 3) parts.push_back(dequantised(n, i));
  if (parts.empty()) throw ModelError("it has no parts");
  PrimitiveBuilder& b = n.builder();
  const int axis = normalise_axis(n.required_integer("axis"), b.rank(parts[0]));
  const ValueId y = b.concat(parts, axis);
  n.output(0, quantise(b, y, {scalar_input(n, 0), scalar_input(n, 1)}, n.dtype(1)));
}

void lower_qlinear_global_average_pool(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const bool channels_last = n.integer("channels_last", 0) != 0;
  const int rank = static_cast<int>(n.rank(0));
  std::vector<int> axes;
  for (int axis = channels_last ? 1 : 2; axis < (channels_last ? rank - 1 : rank); ++axis) {
    axes.push_back(axis);
  }
  n.output(0, requantised(n, b.mean(dequantised(n, 0), axes, true), 3, 4));
}

// Inputs a, sa, za, b, sb, zb, c, sy, zy; float result where sy is absent.
void lower_qgemm(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const auto operand = [&](size_t i, const char* transposed) {
    ValueId zero = n.input(i + 2);
    zero = element_count(b.shape(zero)) == Dim(1) ? b.reshape(zero, {}) : zero;
    const bool flip = n.integer(transposed, 0) != 0;
    ValueId x = flip ? b.transpose(n.input(i), {1, 0}) : n.input(i);
    return less_zero_point(b, x, zero);
  };
  ValueId sum = b.matmul(operand(0, "transA"), operand(3, "transB"));
  if (n.has_input(6)) sum = b.add(sum, n.input(6));
  ValueId factor = b.mul(scalar_input(n, 1), n.input(4));
  const double alpha = n.number("alpha", 1);
  if (alpha != 1) factor = b.mul(factor, alpha);
  const ValueId y = b.mul(b.cast(sum, DType::kF32), factor);
  n.output(0, n.has_input(7) ? requantised(n, y, 7, 8) : y);
}

// Inputs a, b, sa, sb, za, zb, bias: a float product of quantised operands.
void lower_matmul_integer_to_float(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const ValueId sum = b.matmul(less_zero_point(b, n.input(0), optional_input(n, 4)),
                               less_zero_point(b, n.input(1), optional_input(n, 5)));
  ValueId y = b.mul(b.cast(sum, DType::kF32), b.mul(n.input(2), n.input(3)));
  if (n.has_input(6)) y = b.add(y, n.input(6));
  n.output(0, y);
}

// Inputs a, b, sb, zb, bias; a is quantised over the whole tensor.
void lower_dynamic_quantize_matmul(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const DynamicQuantisation q = quantise_dynamically(b, n.input(0));
  const ValueId sum = b.matmul(less_zero_point(b, q.value, q.zero_point),
                               less_zero_point(b, n.input(1), optional_input(n, 3)));
  ValueId y = b.mul(b.cast(sum, DType::kF32), b.mul(n.input(2), q.scale));
  if (n.has_input(4)) y = b.add(y, n.input(4));
  n.output(0, y);
}

// Packed values of 2, 4 or 8 bits in bytes, low bits first, to one value for each: [..., n] bytes
// to [..., n * 8 / bits] of int32.
ValueId unpacked(PrimitiveBuilder& b, ValueId bytes, int64_t bits) {
  if (bits == 8) return b.cast(bytes, DType::kI32);
  const int64_t count = 8 / bits;
  Tensor shifts(DType::kU8, {count});
  for (int64_t i = 0; i < count; ++i) shifts.set_integer(i, i * bits);
  Shape shape = b.shape(bytes);
  Shape split = shape;
  split.emplace_back(count);
  const ValueId spread = b.spread(bytes, split, {static_cast<int>(shape.size())});
  const ValueId shifted = b.shift(ShiftKind::kRight, spread, b.constant(shifts));
  const ValueId low = b.bitwise(BitwiseKind::kAnd, shifted,
                                b.scalar(DType::kU8, static_cast<double>((1 << bits) - 1)));
  shape.back() = shape.back() * Dim(count);
  return b.cast(b.reshape(low, shape), DType::kI32);
}

// Inputs a, packed b [n, blocks, bytes], scales, zero points, group index, bias.
void lower_matmul_nbits(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const int64_t columns = n.required_integer("K");
  const int64_t rows = n.required_integer("N");
  const int64_t bits = n.integer("bits", 4);
  const int64_t block = n.required_integer("block_size");
  if (bits != 2 && bits != 4 && bits != 8) throw ModelError(fmt::format("{} bits", bits));
  if (n.has_input(4)) throw ModelError("an index of groups is not supported");
  if (block < 1 || columns < 1 || rows < 1) throw ModelError("its sizes are not positive");
  const int64_t blocks = (columns + block - 1) / block;
  const DType dtype = n.dtype(0);
  const DType compute = compute_type(dtype);
  const Shape packed = {rows, blocks, block};
  const ValueId values = b.reshape(unpacked(b, n.input(1), bits), packed);
  ValueId zero;
  if (!n.has_input(3)) {
    zero = b.scalar(compute, static_cast<double>(1 << (bits - 1)));
  } else if (is_float(n.dtype(3))) {
    zero = b.reshape(b.cast(n.input(3), compute), {rows, blocks, 1});
  } else {
    const int64_t bytes = (blocks * bits + 7) / 8;
    const ValueId all = unpacked(b, b.reshape(n.input(3), {rows, bytes}), bits);
    zero = b.reshape(b.cast(b.slice_axis(all, 1, Dim(0), Dim(blocks)), compute), {rows, blocks, 1});
  }
  const ValueId scale = b.reshape(b.cast(n.input(2), compute), {rows, blocks, 1});
  const ValueId wide = b.mul(b.sub(b.cast(values, compute), zero), scale);
  const ValueId whole = b.reshape(b.cast(wide, dtype), {rows, blocks * block});
  const ValueId weights = b.transpose(b.slice_axis(whole, 1, Dim(0), Dim(columns)), {1, 0});
  ValueId y = b.matmul(n.input(0), weights);
  if (n.has_input(5)) y = b.add(y, n.input(5));
  n.output(0, y);
}

constexpr OperatorRow kRows[] = {
    {"QLinearConv", 10, lower_qlinear_conv},
    {"DynamicQuantizeMatMul", 1, lower_dynamic_quantize_matmul, kMicrosoft},
    {"MatMulIntegerToFloat", 1, lower_matmul_integer_to_float, kMicrosoft},
    {"MatMulNBits", 1, lower_matmul_nbits, kMicrosoft},
    {"QGemm", 1, lower_qgemm, kMicrosoft},
    {"QLinearAdd", 1, lower_qlinear_binary<Op::k_add>, kMicrosoft},
    {"QLinearConcat", 1, lower_qlinear_concat, kMicrosoft},
    {"QLinearConv", 1, lower_qlinear_conv, kMicrosoft},
    {"QLinearGlobalAveragePool", 1, lower_qlinear_global_average_pool, kMicrosoft},
    {"QLinearLeakyRelu", 1, lower_qlinear_leaky_relu, kMicrosoft},
    {"QLinearMul", 1, lower_qlinear_binary<Op::k_mul>, kMicrosoft},
    {"QLinearSigmoid", 1, lower_qlinear_sigmoid, kMicrosoft},
    {"QLinearSoftmax", 1, lower_qlinear_softmax, kMicrosoft},
};

}  // namespace

std::span<const OperatorRow> qlinear_operators() { return kRows; }

}  // namespace stitch
