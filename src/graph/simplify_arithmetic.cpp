// Rules over numbers: neutral operands, double negation, division by powers of two, powers.
#include <algorithm>
#include <cmath>

#include "graph/simplifier.h"

namespace stitch {
namespace {

using Result = std::optional<ValueId>;

Result simplify_add(Simplifier& s, const Candidate& c) {
  const ValueId a = c.operands[0], b = c.operands[1];
  // x + (-0) is x; x + 0 is not: it turns -0 into 0.
  const double neutral = is_float(c.type.dtype) ? -0.0 : 0.0;
  if (s.is_splat(b, neutral)) return a;
  if (s.is_splat(a, neutral)) return b;
  if (!is_float(c.type.dtype)) return std::nullopt;
  if (const Node* neg = s.producer(b, Op::k_neg)) {
    return s.make_binary(Op::k_sub, a, neg->operands[0]);
  }
  if (const Node* neg = s.producer(a, Op::k_neg)) {
    return s.make_binary(Op::k_sub, b, neg->operands[0]);
  }
  return std::nullopt;
}

Result simplify_sub(Simplifier& s, const Candidate& c) {
  const ValueId a = c.operands[0], b = c.operands[1];
  if (s.is_splat(b, 0.0)) return a;
  if (!is_float(c.type.dtype)) {
    if (a == b) return s.make_splat(c.type, 0.0);
    return std::nullopt;
  }
  if (const Node* neg = s.producer(b, Op::k_neg)) {
    return s.make_binary(Op::k_add, a, neg->operands[0]);
  }
  // -0 - x is -x; 0 - x is not: 0 - 0 is +0.
  if (s.is_splat(a, -0.0)) return s.make_unary(Op::k_neg, b);
  return std::nullopt;
}

Result simplify_mul(Simplifier& s, const Candidate& c) {
  for (const auto& [x, factor] :
       {std::pair(c.operands[0], c.operands[1]), std::pair(c.operands[1], c.operands[0])}) {
    if (s.is_splat(factor, 1.0)) return x;
    if (is_signed(c.type.dtype) && s.is_splat(factor, -1.0)) {
      return s.make_unary(Op::k_neg, x);
    }
    // Not for floats: 0 * NaN, 0 * inf and 0 * -1 are not 0.
    if (is_integer(c.type.dtype) && s.is_splat(factor, 0.0)) return s.make_splat(c.type, 0.0);
  }
  return std::nullopt;
}

// The smallest positive normal number; below it a reciprocal may be flushed or lose bits.
double smallest_normal(DType dtype) {
  if (dtype == DType::kF16) return 0x1p-14;
  return dtype == DType::kF64 ? 0x1p-1022 : 0x1p-126;
}

Result simplify_div(Simplifier& s, const Candidate& c) {
  const ValueId x = c.operands[0];
  if (s.is_splat(c.operands[1], 1.0)) return x;
  const auto divisor = s.splat(c.operands[1]);
  if (!divisor || !is_float(c.type.dtype)) return std::nullopt;
  // The quotient by a power of two and the product with its reciprocal round the same real number.
  int exponent = 0;
  const double number = divisor->real(0);
  const double reciprocal = 1.0 / number;
  const bool is_power = std::isfinite(number) && std::fabs(std::frexp(number, &exponent)) == 0.5;
  const double smallest = smallest_normal(c.type.dtype);
  if (!is_power || std::fabs(reciprocal) < smallest || std::fabs(number) < smallest ||
      Tensor::scalar(c.type.dtype, reciprocal).real(0) != reciprocal) {
    return std::nullopt;
  }
  return s.make_binary(Op::k_mul, x, s.make_splat(c.type, reciprocal));
}

// Whether no element is negative or -0 (NaN may occur): then roots and powers agree.
bool is_never_negative(const Simplifier& s, ValueId value, int depth = 6) {
  if (const auto scalar = s.splat(value)) {
    return !std::signbit(scalar->real(0));
  }
  const NodeId id = s.graph().value(value).producer;
  if (depth == 0 || !id.valid()) return false;
  const Node& node = s.graph().node(id);
  const auto never = [&](size_t i) { return is_never_negative(s, node.operands[i], depth - 1); };
  const auto is_one_of = [&](std::initializer_list<Op> ops) {
    return std::find(ops.begin(), ops.end(), node.op) != ops.end();
  };
  if (is_one_of({Op::k_abs, Op::k_exp, Op::k_cosh})) return true;
  if (node.op == Op::k_mul && node.operands[0] == node.operands[1]) return true;
  if (is_one_of({Op::k_add, Op::k_mul, Op::k_div})) return never(0) && never(1);
  if (is_one_of({Op::k_sqrt, Op::k_broadcast, Op::k_reshape, Op::k_transpose, Op::k_slice})) {
    return never(0);
  }
  // The maximum of an empty set is -inf.
  if (node.op != Op::k_reduce) return false;
  return attributes_as<ReduceAttributes>(node.attributes).kind != ReduceKind::kMax && never(0);
}

Result simplify_pow(Simplifier& s, const Candidate& c) {
  const ValueId x = c.operands[0];
  if (!is_float(c.type.dtype)) return std::nullopt;
  const auto scalar = s.splat(c.operands[1]);
  if (!scalar) return std::nullopt;
  const double exponent = scalar->real(0);
  if (exponent == 0) return s.make_splat(c.type, 1.0);  // of NaN too
  if (exponent == 1) return x;
  if (exponent == 2) return s.make_binary(Op::k_mul, x, x);
  // Three-fold products of 16-bit floats would round in between.
  if (exponent == 3 && !is_half(c.type.dtype)) {
    return s.make_binary(Op::k_mul, s.make_binary(Op::k_mul, x, x), x);
  }
  if (exponent == -1) return s.make_binary(Op::k_div, s.make_splat(c.type, 1.0), x);
  // pow(-inf, 0.5) is inf and pow(-0, 0.5) is 0; the root gives NaN and -0.
  if (exponent == 0.5 && is_never_negative(s, x)) return s.make_unary(Op::k_sqrt, x);
  if (exponent == -0.5 && !is_half(c.type.dtype) && is_never_negative(s, x)) {
    const ValueId root = s.make_unary(Op::k_sqrt, x);
    return s.make_binary(Op::k_div, s.make_splat(c.type, 1.0), root);
  }
  return std::nullopt;
}

// min and max: a bound that never binds, the same operand twice, a bound of a bound.
Result simplify_bound(Simplifier& s, const Candidate& c) {
  const ValueId a = c.operands[0], b = c.operands[1];
  if (a == b) return a;
  // Tensor::integer is signed, so u64 bounds are left alone.
  if (c.type.dtype == DType::kBool || c.type.dtype == DType::kU64) return std::nullopt;
  const bool is_max = c.op == Op::k_max;
  for (const auto& [x, bound] : {std::pair(a, b), std::pair(b, a)}) {
    const auto limit = s.splat(bound);
    if (!limit) continue;
    // max(NaN, -inf) is NaN, so the infinite bound is neutral.
    if (is_float(c.type.dtype)) {
      if (std::isinf(limit->real(0)) && (limit->real(0) < 0) == is_max) return x;
    }
    const Node* inner = s.producer(x, c.op);
    if (inner == nullptr) continue;
    for (size_t i = 0; i < 2; ++i) {
      const auto other = s.splat(inner->operands[i]);
      if (!other) continue;
      if (is_float(c.type.dtype) && (std::isnan(limit->real(0)) || std::isnan(other->real(0)))) {
        continue;
      }
      const bool takes_limit = is_float(c.type.dtype)
                                   ? (limit->real(0) > other->real(0)) == is_max
                                   : (limit->integer(0) > other->integer(0)) == is_max;
      const ValueId rest = inner->operands[1 - i];
      return s.make_binary(c.op, rest, s.make_splat(c.type, takes_limit ? *limit : *other));
    }
  }
  return std::nullopt;
}

Result simplify_unary(Simplifier& s, const Candidate& c) {
  const ValueId x = c.operands[0];
  if (c.op == Op::k_neg) {
    if (const Node* neg = s.producer(x, Op::k_neg)) return neg->operands[0];
    // -(a - b) is not b - a: they differ in the sign of zero.
    return std::nullopt;
  }
  if (c.op == Op::k_abs) {
    if (s.producer(x, Op::k_abs) != nullptr) return x;
    if (const Node* neg = s.producer(x, Op::k_neg)) {
      return s.make_unary(Op::k_abs, neg->operands[0]);
    }
    return std::nullopt;
  }
  // Of a value that is integral already.
  for (const Op rounding : {Op::k_floor, Op::k_ceil, Op::k_round}) {
    if (s.producer(x, rounding) != nullptr) return x;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ValueId> simplify_arithmetic(Simplifier& s, const Candidate& c) {
  if (c.op == Op::k_add) return simplify_add(s, c);
  if (c.op == Op::k_sub) return simplify_sub(s, c);
  if (c.op == Op::k_mul) return simplify_mul(s, c);
  if (c.op == Op::k_div) return simplify_div(s, c);
  if (c.op == Op::k_pow) return simplify_pow(s, c);
  if (c.op == Op::k_min || c.op == Op::k_max) return simplify_bound(s, c);
  if (c.op == Op::k_neg || c.op == Op::k_abs || c.op == Op::k_floor || c.op == Op::k_ceil ||
      c.op == Op::k_round) {
    return simplify_unary(s, c);
  }
  return std::nullopt;
}

}  // namespace stitch
