// Rules over cast and bitcast.
#include "graph/simplifier.h"

namespace stitch {
namespace {

int significand_bits(DType dtype) {
  if (dtype == DType::kF16) return 11;
  if (dtype == DType::kBF16) return 8;
  return dtype == DType::kF32 ? 24 : 53;
}

int value_bits(DType integer) {
  return static_cast<int>(size_bytes(integer)) * 8 - (is_signed(integer) ? 1 : 0);
}

// Whether every value of `from` is one of `to`.
bool is_lossless(DType from, DType to) {
  if (from == to || from == DType::kBool) return true;
  if (to == DType::kBool) return false;
  if (is_float(from)) {
    if (!is_float(to)) return false;
    return to == DType::kF64 || (to == DType::kF32 && is_half(from));
  }
  if (is_float(to)) {
    // f16 ends at 65504, and 11 bits stay below.
    return value_bits(from) <= significand_bits(to);
  }
  return value_bits(from) <= value_bits(to) && (!is_signed(from) || is_signed(to));
}

// Whether cast(cast(x: from, middle), to) is cast(x, to).
bool middle_is_idle(DType from, DType middle, DType to) {
  if (is_lossless(from, middle)) return true;
  // Integers keep their low bits.
  return is_integer(from) && is_integer(middle) && is_integer(to) &&
         size_bytes(to) <= size_bytes(middle);
}

}  // namespace

std::optional<ValueId> simplify_cast(Simplifier& s, const Candidate& c) {
  if (c.op != Op::k_cast && c.op != Op::k_bitcast) return std::nullopt;
  const ValueId x = c.operands[0];
  if (s.type(x).dtype == c.type.dtype) return x;
  const Node* inner = s.producer(x, c.op);
  if (inner == nullptr) return std::nullopt;
  const ValueId origin = inner->operands[0];
  if (c.op == Op::k_bitcast ||
      middle_is_idle(s.type(origin).dtype, s.type(x).dtype, c.type.dtype)) {
    return s.make(c.op, {origin}, c.attributes, c.type);
  }
  return std::nullopt;
}

}  // namespace stitch
