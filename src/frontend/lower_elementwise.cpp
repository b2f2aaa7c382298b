// Arithmetic, comparisons, logic, casts: operators that are one primitive, or a few, per element.
#include <limits>
#include <optional>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "graph/error.h"

namespace stitch {
namespace {

template <Op op>
void lower_unary(NodeContext& n) {
  n.output(0, n.builder().unary(op, n.input(0)));
}

template <Op op>
void lower_binary(NodeContext& n) {
  n.output(0, n.builder().binary(op, n.input(0), n.input(1)));
}

template <Op op>
void lower_variadic(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const auto inputs = n.inputs();
  ValueId result = inputs.front();
  for (size_t i = 1; i < inputs.size(); ++i) result = b.binary(op, result, inputs[i]);
  n.output(0, result);
}

void lower_mean(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const auto inputs = n.inputs();
  const DType dtype = b.dtype(inputs.front());
  ValueId sum = b.cast(inputs.front(), compute_type(dtype));
  for (size_t i = 1; i < inputs.size(); ++i) {
    sum = b.add(sum, b.cast(inputs[i], compute_type(dtype)));
  }
  n.output(0, b.cast(b.div(sum, static_cast<double>(inputs.size())), dtype));
}

template <CompareKind kind>
void lower_compare(NodeContext& n) {
  n.output(0, n.builder().compare(kind, n.input(0), n.input(1)));
}

template <CompareKind kind>
void lower_compare_swapped(NodeContext& n) {  // a > b is b < a: both are false on NaN
  n.output(0, n.builder().compare(kind, n.input(1), n.input(0)));
}

void require_bool(NodeContext& n) {
  for (size_t i = 0; i < n.input_count(); ++i) {
    if (n.dtype(i) != DType::kBool) throw ModelError("its operands are not bool");
  }
}

template <BitwiseKind kind>
void lower_logical(NodeContext& n) {
  require_bool(n);
  n.output(0, n.builder().bitwise(kind, n.input(0), n.input(1)));
}

template <BitwiseKind kind>
void lower_bitwise(NodeContext& n) {
  n.output(0, n.builder().bitwise(kind, n.input(0), n.input(1)));
}

void lower_not(NodeContext& n) {
  require_bool(n);
  n.output(0, n.builder().unary(Op::k_not, n.input(0)));
}

void lower_bit_shift(NodeContext& n) {
  const std::string direction = n.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    throw ModelError("attribute 'direction' is neither LEFT nor RIGHT");
  }
  const ShiftKind kind = direction == "LEFT" ? ShiftKind::kLeft : ShiftKind::kRight;
  n.output(0, n.builder().shift(kind, n.input(0), n.input(1)));
}

void lower_where(NodeContext& n) {
  n.output(0, n.builder().select(n.input(0), n.input(1), n.input(2)));
}

// fmod=1: the C remainder. fmod=0: the sign of the divisor, so the divisor is added where the
// signs differ. -7 mod 3: rem gives -1, adding 3 gives 2.
void lower_mod(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const ValueId x = n.input(0);
  const ValueId y = n.input(1);
  const ValueId rem = b.binary(Op::k_rem, x, y);
  const bool fmod = n.integer("fmod", 0) != 0;
  if (is_float(b.dtype(x)) && !fmod && n.opset() < 28) {
    throw ModelError("floats need the attribute fmod=1 before opset 28");
  }
  if (fmod || !is_signed(b.dtype(x))) {
    n.output(0, rem);
    return;
  }
  const ValueId nonzero = b.unary(Op::k_not, b.compare(CompareKind::kEq, rem, 0.0));
  const ValueId differ = b.bitwise(BitwiseKind::kXor, b.compare(CompareKind::kLt, rem, 0.0),
                                   b.compare(CompareKind::kLt, y, 0.0));
  n.output(0, b.select(b.bitwise(BitwiseKind::kAnd, nonzero, differ), b.add(rem, y), rem));
}

// A constant exponent that multiplication or a root does: x^2, x^3, x^0.5, x^-0.5, x^-1. The root
// differs from pow at -0 and -infinity only, where onnxruntime's fast paths differ too.
std::optional<ValueId> power_by_constant(PrimitiveBuilder& b, ValueId x, double exponent) {
  if (exponent == 1.0) return x;
  if (exponent == 2.0) return b.mul(x, x);
  if (exponent == 3.0) return b.mul(b.mul(x, x), x);
  if (!is_float(b.dtype(x))) return {};
  if (exponent == -1.0) return b.div(1.0, x);
  if (exponent == 0.5) return b.unary(Op::k_sqrt, x);
  if (exponent == -0.5) return b.div(1.0, b.unary(Op::k_sqrt, x));
  return {};
}

void lower_pow(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const ValueId x = n.input(0);
  const ElementTensor* known = n.elements(1);
  if (known && known->count() == 1 && known->rank() <= b.rank(x)) {
    if (const auto exponent = number_of(known->elements.front())) {
      const ValueId wide = b.cast(x, compute_type(b.dtype(x)));
      if (const auto power = power_by_constant(b, wide, *exponent)) {
        n.output(0, b.cast(*power, b.dtype(x)));
        return;
      }
    }
  }
  const ValueId y = n.input(1);
  const DType base = b.dtype(x);
  const DType power = b.dtype(y);
  if (base == power) {
    n.output(0, b.binary(Op::k_pow, x, y));
  } else if (is_float(base) || !is_float(power)) {
    n.output(0, b.binary(Op::k_pow, x, b.cast(y, base)));
  } else {  // an integer to a fractional power: in float64, then back
    const ValueId wide = b.binary(Op::k_pow, b.cast(x, DType::kF64), b.cast(y, DType::kF64));
    n.output(0, b.cast(wide, base));
  }
}

void lower_reciprocal(NodeContext& n) { n.output(0, n.builder().div(1.0, n.input(0))); }

void lower_cast(NodeContext& n) {
  n.output(0, n.builder().cast(n.input(0), n.dtype_attribute("to", DType::kF32)));
}

void lower_cast_like(NodeContext& n) { n.output(0, n.builder().cast(n.input(0), n.dtype(1))); }

void lower_bit_cast(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const ValueId x = n.input(0);
  const ValueType type{n.dtype_attribute("to", DType::kF32), b.shape(x)};
  n.output(0, b.node(Op::k_bitcast, {x}, {}, &type));
}

void lower_clip(NodeContext& n) {  // both bounds by max, then min: low > high gives high
  PrimitiveBuilder& b = n.builder();
  ValueId x = n.input(0);
  if (n.has_input(1)) x = b.binary(Op::k_max, x, n.input(1));
  if (n.has_input(2)) x = b.binary(Op::k_min, x, n.input(2));
  n.output(0, x);
}

void lower_clip_by_attributes(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  constexpr double kLargest = std::numeric_limits<float>::max();
  const ValueId low = b.binary(Op::k_max, n.input(0), n.number("min", -kLargest));
  n.output(0, b.binary(Op::k_min, low, n.number("max", kLargest)));
}

void lower_is_nan(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const ValueId x = n.input(0);
  n.output(0, b.unary(Op::k_not, b.compare(CompareKind::kEq, x, x)));
}

void lower_is_inf(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const ValueId x = n.input(0);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool positive = n.integer("detect_positive", 1) != 0;
  const bool negative = n.integer("detect_negative", 1) != 0;
  if (positive && negative) {
    n.output(0, b.compare(CompareKind::kEq, b.unary(Op::k_abs, x), kInfinity));
  } else if (positive || negative) {
    n.output(0, b.compare(CompareKind::kEq, x, positive ? kInfinity : -kInfinity));
  } else {
    n.output(0, b.filled(DType::kBool, 0, b.shape(x)));
  }
}

constexpr OperatorRow kRows[] = {
    {"Abs", 6, lower_unary<Op::k_abs>},
    {"Acos", 7, lower_unary<Op::k_acos>},
    {"Acosh", 9, lower_unary<Op::k_acosh>},
    {"Add", 7, lower_binary<Op::k_add>},
    {"And", 7, lower_logical<BitwiseKind::kAnd>},
    {"Asin", 7, lower_unary<Op::k_asin>},
    {"Asinh", 9, lower_unary<Op::k_asinh>},
    {"Atan", 7, lower_unary<Op::k_atan>},
    {"Atanh", 9, lower_unary<Op::k_atanh>},
    {"BitCast", 26, lower_bit_cast},
    {"BitShift", 11, lower_bit_shift},
    {"BitwiseAnd", 18, lower_bitwise<BitwiseKind::kAnd>},
    {"BitwiseNot", 18, lower_unary<Op::k_not>},
    {"BitwiseOr", 18, lower_bitwise<BitwiseKind::kOr>},
    {"BitwiseXor", 18, lower_bitwise<BitwiseKind::kXor>},
    {"Cast", 6, lower_cast},
    {"CastLike", 15, lower_cast_like},
    {"Ceil", 6, lower_unary<Op::k_ceil>},
    {"Clip", 6, lower_clip_by_attributes},
    {"Clip", 11, lower_clip},
    {"Cos", 7, lower_unary<Op::k_cos>},
    {"Cosh", 9, lower_unary<Op::k_cosh>},
    {"Div", 7, lower_binary<Op::k_div>},
    {"Equal", 7, lower_compare<CompareKind::kEq>},
    {"Erf", 9, lower_unary<Op::k_erf>},
    {"Exp", 6, lower_unary<Op::k_exp>},
    {"Floor", 6, lower_unary<Op::k_floor>},
    {"Greater", 7, lower_compare_swapped<CompareKind::kLt>},
    {"GreaterOrEqual", 12, lower_compare_swapped<CompareKind::kLe>},
    {"IsInf", 10, lower_is_inf},
    {"IsNaN", 9, lower_is_nan},
    {"Less", 7, lower_compare<CompareKind::kLt>},
    {"LessOrEqual", 12, lower_compare<CompareKind::kLe>},
    {"Log", 6, lower_unary<Op::k_log>},
    {"Max", 6, lower_variadic<Op::k_max>},
    {"Mean", 6, lower_mean},
    {"Min", 6, lower_variadic<Op::k_min>},
    {"Mod", 10, lower_mod},
    {"Mul", 7, lower_binary<Op::k_mul>},
    {"Neg", 6, lower_unary<Op::k_neg>},
    {"Not", 1, lower_not},
    {"Or", 7, lower_logical<BitwiseKind::kOr>},
    {"Pow", 7, lower_pow},
    {"Reciprocal", 6, lower_reciprocal},
    {"Round", 11, lower_unary<Op::k_round>},
    {"Sign", 9, lower_unary<Op::k_sign>},
    {"Sin", 7, lower_unary<Op::k_sin>},
    {"Sinh", 9, lower_unary<Op::k_sinh>},
    {"Sqrt", 6, lower_unary<Op::k_sqrt>},
    {"Sub", 7, lower_binary<Op::k_sub>},
    {"Sum", 6, lower_variadic<Op::k_add>},
    {"Tan", 7, lower_unary<Op::k_tan>},
    {"Tanh", 6, lower_unary<Op::k_tanh>},
    {"Where", 9, lower_where},
    {"Xor", 7, lower_logical<BitwiseKind::kXor>},
};

}  // namespace

std::span<const OperatorRow> elementwise_operators() { return kRows; }

}  // namespace stitch
