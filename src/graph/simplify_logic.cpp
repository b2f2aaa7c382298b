// Rules over conditions: compare, select, bitwise, not.
#include "graph/simplifier.h"

namespace stitch {
namespace {

using Result = std::optional<ValueId>;

Result simplify_compare(Simplifier& s, const Candidate& c) {
  const CompareKind kind = attributes_as<CompareAttributes>(c.attributes).kind;
  const ValueId a = c.operands[0], b = c.operands[1];
  if (a == b) {
    if (kind == CompareKind::kLt) return s.make_splat(c.type, 0.0);  // false on NaN too
    if (!is_float(s.type(a).dtype)) return s.make_splat(c.type, 1.0);
  }
  if (kind == CompareKind::kEq && s.type(a).dtype == DType::kBool) {
    for (const auto& [x, constant] : {std::pair(a, b), std::pair(b, a)}) {
      if (s.is_splat(constant, 1.0)) return x;
      if (s.is_splat(constant, 0.0)) return s.make_unary(Op::k_not, x);
    }
  }
  return std::nullopt;
}

Result simplify_select(Simplifier& s, const Candidate& c) {
  const ValueId condition = c.operands[0], a = c.operands[1], b = c.operands[2];
  if (a == b) return a;
  if (const auto constant = s.splat(condition)) return constant->integer(0) != 0 ? a : b;
  if (const Node* inverse = s.producer(condition, Op::k_not)) {
    return s.make(Op::k_select, {inverse->operands[0], b, a}, {}, c.type);
  }
  if (c.type.dtype == DType::kBool) {
    if (s.is_splat(a, 1.0) && s.is_splat(b, 0.0)) return condition;
    if (s.is_splat(a, 0.0) && s.is_splat(b, 1.0)) return s.make_unary(Op::k_not, condition);
  }
  return std::nullopt;
}

Result simplify_bitwise(Simplifier& s, const Candidate& c) {
  const BitwiseKind kind = attributes_as<BitwiseAttributes>(c.attributes).kind;
  const ValueId a = c.operands[0], b = c.operands[1];
  if (a == b) return kind == BitwiseKind::kXor ? s.make_splat(c.type, 0.0) : a;
  const bool is_bool = c.type.dtype == DType::kBool;
  for (const auto& [x, constant] : {std::pair(a, b), std::pair(b, a)}) {
    const auto scalar = s.splat(constant);
    if (!scalar) continue;
    const int64_t bits = scalar->integer(0);
    const int64_t unused = is_bool ? 63 : 64 - 8 * size_bytes(c.type.dtype);
    const bool ones = static_cast<uint64_t>(bits) << unused == ~uint64_t{0} << unused;
    switch (kind) {
      case BitwiseKind::kAnd:
        if (ones) return x;
        if (bits == 0) return constant;
        break;
      case BitwiseKind::kOr:
        if (ones) return constant;
        if (bits == 0) return x;
        break;
      case BitwiseKind::kXor:
        if (bits == 0) return x;
        if (ones) return s.make_unary(Op::k_not, x);
        break;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<ValueId> simplify_logic(Simplifier& s, const Candidate& c) {
  if (c.op == Op::k_compare) return simplify_compare(s, c);
  if (c.op == Op::k_select) return simplify_select(s, c);
  if (c.op == Op::k_bitwise) return simplify_bitwise(s, c);
  if (c.op == Op::k_not) {
    if (const Node* inverse = s.producer(c.operands[0], Op::k_not)) return inverse->operands[0];
  }
  return std::nullopt;
}

}  // namespace stitch
