// A C++ expression with the strength of its outermost operator, so that parentheses appear only
// where they are needed.
#pragma once
#include <cstdint>
#include <string>

namespace stitch {

enum class Precedence : uint8_t {
  kPrimary,
  kUnary,
  kProduct,
  kSum,
  kShift,
  kRelation,
  kEquality,
  kBitAnd,
  kBitXor,
  kBitOr,
  kAnd,
  kOr,
  kChoice,
};

struct CudaText {
  std::string text;
  Precedence precedence = Precedence::kPrimary;
};

// The text as an operand that must bind at least as strongly as `weakest`.
inline std::string operand(const CudaText& text, Precedence weakest) {
  return text.precedence <= weakest ? text.text : "(" + text.text + ")";
}

// "a + b": a left-associative operator; the right operand keeps its parentheses, because the order
// of floating-point operations is part of the meaning.
inline CudaText infix(const CudaText& a, const std::string& symbol, const CudaText& b,
                      Precedence precedence) {
  const auto tighter = static_cast<Precedence>(static_cast<uint8_t>(precedence) - 1);
  return {operand(a, precedence) + " " + symbol + " " + operand(b, tighter), precedence};
}

}  // namespace stitch
