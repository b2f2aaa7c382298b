// Quantisation and quantised contractions (operators.md 4.8 and 7.4).
#include <fmt/format.h>

#include <limits>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "frontend/quantisation.h"
#include "graph/error.h"

namespace stitch {
namespace {

struct IntegerRange {
  double low, high;
};

IntegerRange range_of(DType dtype) {
  switch (dtype) {
    case DType::kI8:
      return {-128, 127};
    case DType::kU8:
      return {0, 255};
    case DType::kI16:
      return {-32768, 32767};
    case DType::kU16:
      return {0, 65535};
    case DType::kI32:
      return {-2147483648.0, 2147483647.0};
    case DType::kBool:
    case DType::kI64:
    case DType::kU32:
    case DType::kU64:
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64:
      break;
  }
  throw ModelError(fmt::format("quantisation to {} is not supported", long_name(dtype)));
}

}  // namespace

ValueId along_axis(PrimitiveBuilder& b, ValueId parameter, const Shape& shape, int axis,
                   int64_t block_size) {
  const Shape own = b.shape(parameter);
  if (element_count(own) == Dim(1) && own.size() <= 1) {
    return b.broadcast(b.reshape(parameter, {}), shape);
  }
  const auto at = static_cast<size_t>(axis);
  if (own.size() == 1) return b.broadcast_axes(parameter, shape, {axis});
  if (block_size < 1 || own.size() != shape.size()) {
    throw ModelError(
        fmt::format("a scale or zero point of shape {} for {}", to_string(own), to_string(shape)));
  }
  // Blocked: entry i / block_size of the axis.
  Shape split = own, repeated = own, merged = own;
  split.insert(split.begin() + axis + 1, Dim(1));
  repeated.insert(repeated.begin() + axis + 1, Dim(block_size));
  merged[at] = own[at] * Dim(block_size);
  const ValueId whole = b.reshape(b.broadcast(b.reshape(parameter, split), repeated), merged);
  return b.slice_axis(whole, axis, Dim(0), shape[at]);
}

ValueId quantise(PrimitiveBuilder& b, ValueId x, const QuantisationParameters& p, DType to) {
  const IntegerRange range = range_of(to);
  ValueId q = b.unary(Op::k_round, b.div(x, p.scale));  // a true division: 0.35 / 0.1 is 4
  if (p.zero_point) q = b.add(q, b.cast(*p.zero_point, b.dtype(q)));
  // NaN gives the lowest value: it fails the comparison.
  const ValueId low = b.scalar(b.dtype(q), range.low);
  q = b.select(b.compare(CompareKind::kLt, low, q), q, low);
  return b.cast(b.binary(Op::k_min, q, range.high), to);
}

ValueId dequantise(PrimitiveBuilder& b, ValueId x, const QuantisationParameters& p) {
  ValueId wide = x;
  if (p.zero_point) {
    wide = b.sub(b.cast(x, DType::kI32), b.cast(*p.zero_point, DType::kI32));
  }
  return b.mul(b.cast(wide, b.dtype(p.scale)), p.scale);
}

ValueId less_zero_point(PrimitiveBuilder& b, ValueId x, std::optional<ValueId> zero_point) {
  const ValueId wide = b.cast(x, DType::kI32);
  return zero_point ? b.sub(wide, b.cast(*zero_point, DType::kI32)) : wide;
}

namespace {

int64_t block_size_of(NodeContext& n) { return n.integer("block_size", 0); }

int axis_of(NodeContext& n) {
  return n.rank(0) <= 1 ? 0 : normalise_axis(n.integer("axis", 1), n.rank(0));
}

void lower_quantize_linear(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const Shape shape = n.shape(0);
  const DType absent = n.dtype_attribute("output_dtype", DType::kU8);
  const DType to = n.has_input(2) ? n.dtype(2) : absent;
  const DType precision = compute_type(n.dtype(1));
  const auto spread = [&](ValueId p) {
    return along_axis(b, p, shape, axis_of(n), block_size_of(n));
  };
  QuantisationParameters p{spread(b.cast(n.input(1), precision)), {}};
  if (n.has_input(2)) p.zero_point = spread(n.input(2));
  n.output(0, quantise(b, b.cast(n.input(0), precision), p, to));
}

void lower_dequantize_linear(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const Shape shape = n.shape(0);
  const auto spread = [&](ValueId p) {
    return along_axis(b, p, shape, axis_of(n), block_size_of(n));
  };
  const DType to = n.dtype_attribute("output_dtype", n.dtype(1));
  QuantisationParameters p{spread(b.cast(n.input(1), compute_type(n.dtype(1)))), {}};
  if (n.has_input(2)) p.zero_point = spread(n.input(2));
  n.output(0, b.cast(dequantise(b, n.input(0), p), to));
}

// scale = (max - min) / 255 with 0 in the range; a scale of 0 counts as 1.
void lower_dynamic_quantize_linear(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const DynamicQuantisation q = quantise_dynamically(b, n.input(0));
  n.output(0, q.value);
  n.output(1, q.scale);
  n.output(2, q.zero_point);
}

// Zero points of MatMulInteger: scalar, one for each row of A, one for each column of B.
std::optional<ValueId> row_zero_point(NodeContext& n, size_t input) {
  if (!n.has_input(input)) return {};
  PrimitiveBuilder& b = n.builder();
  const ValueId zero = n.input(input);
  return b.rank(zero) == 1 && !(b.dim(zero, 0) == Dim(1)) ? b.insert_axis(zero, 1) : zero;
}

std::optional<ValueId> optional_input(NodeContext& n, size_t input) {
  return n.has_input(input) ? std::optional(n.input(input)) : std::nullopt;
}

void lower_matmul_integer(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  n.output(0, b.matmul(less_zero_point(b, n.input(0), row_zero_point(n, 2)),
                       less_zero_point(b, n.input(1), optional_input(n, 3))));
}

void lower_qlinear_matmul(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const auto column = [&](ValueId p) {
    return b.rank(p) == 1 && !(b.dim(p, 0) == Dim(1)) ? b.insert_axis(p, 1) : p;
  };
  const ValueId product = b.matmul(less_zero_point(b, n.input(0), column(n.input(2))),
                                   less_zero_point(b, n.input(3), n.input(5)));
  const auto wide = [&](size_t i) { return b.cast(n.input(i), DType::kF32); };
  const ValueId factor = b.div(b.mul(column(wide(1)), wide(4)), wide(6));
  const ValueId scaled = b.mul(b.cast(product, DType::kF32), factor);
  const QuantisationParameters p{b.scalar(DType::kF32, 1), n.input(7)};
  n.output(0, quantise(b, scaled, p, n.dtype(7)));
}

constexpr OperatorRow kRows[] = {
    {"DequantizeLinear", 10, lower_dequantize_linear},
    {"DequantizeLinear", 1, lower_dequantize_linear, "com.microsoft"},
    {"DynamicQuantizeLinear", 11, lower_dynamic_quantize_linear},
    {"MatMulInteger", 10, lower_matmul_integer},
    {"QLinearMatMul", 10, lower_qlinear_matmul},
    {"QuantizeLinear", 10, lower_quantize_linear},
    {"QuantizeLinear", 1, lower_quantize_linear, "com.microsoft"},
};

}  // namespace

DynamicQuantisation quantise_dynamically(PrimitiveBuilder& b, ValueId x) {
  std::vector<int> all;
  for (int axis = 0; axis < static_cast<int>(b.rank(x)); ++axis) all.push_back(axis);
  const ValueId low = b.binary(Op::k_min, b.reduce(ReduceKind::kMin, x, all, false), 0.0);
  const ValueId high = b.binary(Op::k_max, b.reduce(ReduceKind::kMax, x, all, false), 0.0);
  const ValueId step = b.div(b.sub(high, low), 255.0);
  DynamicQuantisation q;
  q.scale = b.select(b.compare(CompareKind::kEq, step, 0.0), b.scalar(DType::kF32, 1), step);
  const QuantisationParameters unscaled{b.scalar(DType::kF32, 1), {}};
  q.zero_point = quantise(b, b.div(b.unary(Op::k_neg, low), q.scale), unscaled, DType::kU8);
  q.value = quantise(b, x, {q.scale, q.zero_point}, DType::kU8);
  return q;
}

std::span<const OperatorRow> quantised_operators() { return kRows; }

}  // namespace stitch
