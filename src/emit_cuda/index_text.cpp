#include "emit_cuda/index_text.h"

#include <algorithm>
#include <cstdlib>

#include "graph/error.h"

namespace stitch {
namespace {

CudaText times(const CudaText& factor, int64_t coefficient, const std::string& number) {
  if (coefficient == 1) return factor;
  return infix(factor, "*", {number}, Precedence::kProduct);
}

}  // namespace

// The constant that stands for an extent, or its digits.
std::string IndexText::number(int64_t value) const {
  const auto found = factors_.find(value);
  return found == factors_.end() ? std::to_string(value) : found->second;
}

CudaText IndexText::text(ExprId id) const { return shifted(id, 0); }

CudaText IndexText::shifted(ExprId id, int64_t shift) const {
  const Expr& e = pool_.expr(id);
  const int64_t constant = e.constant + shift;
  std::vector<Term> terms = e.terms;
  std::stable_sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
    if ((a.coefficient < 0) != (b.coefficient < 0)) return b.coefficient < 0;
    return std::abs(a.coefficient) > std::abs(b.coefficient);
  });
  CudaText sum;
  bool empty = true;
  const auto append = [&](bool negative, const CudaText& part) {
    if (empty) {
      sum =
          negative ? CudaText{"-" + operand(part, Precedence::kProduct), Precedence::kUnary} : part;
      empty = false;
      return;
    }
    sum = infix(sum, negative ? "-" : "+", part, Precedence::kSum);
  };
  // A positive constant leads when everything else is subtracted from it.
  const bool constant_first = constant > 0 && !terms.empty() && terms.front().coefficient < 0;
  if (constant_first) append(false, {std::to_string(constant)});
  for (const Term& t : terms) append(t.coefficient < 0, term(t));
  if (!constant_first && (constant != 0 || empty)) {
    append(constant < 0, {std::to_string(std::abs(constant))});
  }
  return sum;
}

CudaText IndexText::term(const Term& t) const {
  int64_t coefficient = std::abs(t.coefficient);
  const CudaText f = factor(t, &coefficient);
  return times(f, coefficient, number(coefficient));
}

// By how many divisors the inner expression must be raised so that it is never negative: C++
// truncates toward zero, indices round down.
int64_t IndexText::steps_above_zero(const Term& t) const {
  const int64_t low = pool_.range(t.inner).low;
  return low >= 0 ? 0 : (t.operand - 1 - low) / t.operand;
}

// The factor, and what is left of the coefficient when the printed text is a multiple of it.
CudaText IndexText::factor(const Term& t, int64_t* coefficient) const {
  switch (t.kind) {
    case FactorKind::kAtom:
      return atom(t.atom, coefficient);
    case FactorKind::kFloorDiv: {
      const AtomId only = pool_.as_atom(t.inner);
      if (only.valid()) {
        int64_t unit = coordinates_.at(only).unit;
        const CudaText x = atom(only, &unit);
        return infix(x, "/", {number(t.operand * coordinates_.at(only).unit / unit)},
                     Precedence::kProduct);
      }
      const int64_t up = steps_above_zero(t);
      const CudaText quotient =
          infix(shifted(t.inner, up * t.operand), "/", {number(t.operand)}, Precedence::kProduct);
      if (up == 0) return quotient;
      return infix(quotient, "-", {std::to_string(up)}, Precedence::kSum);
    }
    case FactorKind::kMod: {
      const AtomId only = pool_.as_atom(t.inner);
      const int64_t unit = only.valid() ? coordinates_.at(only).unit : 1;
      if (unit > 1 && *coefficient % unit == 0) {
        *coefficient /= unit;
        return infix({coordinates_.at(only).text}, "%", {number(t.operand * unit)},
                     Precedence::kProduct);
      }
      return infix(shifted(t.inner, steps_above_zero(t) * t.operand), "%", {number(t.operand)},
                   Precedence::kProduct);
    }
    case FactorKind::kMin:
    case FactorKind::kMax:
      return {std::string(t.kind == FactorKind::kMin ? "min(" : "max(") + text(t.inner).text +
                  ", " + std::to_string(t.operand) + ")",
              Precedence::kPrimary};
    case FactorKind::kRead:
      break;
  }
  throw InternalError("an index that a tensor holds was not replaced before printing");
}

CudaText IndexText::atom(AtomId id, int64_t* coefficient) const {
  const auto found = coordinates_.find(id);
  if (found == coordinates_.end()) {
    throw InternalError("an index expression refers to atom " + std::to_string(id.index) + " \"" +
                        pool_.atom(id).name + "\", which no loop binds");
  }
  const Coordinate& c = found->second;
  if (c.gathered.valid()) return {gathered_(c.gathered), Precedence::kPrimary};
  if (c.unit == 1) return {c.text, Precedence::kPrimary};
  if (*coefficient % c.unit == 0) {
    *coefficient /= c.unit;
    return {c.text, Precedence::kPrimary};
  }
  return infix({c.text}, "/", {std::to_string(c.unit)}, Precedence::kProduct);
}

std::string IndexText::guard(const Guard& g) const {
  const Range range = pool_.range(g.expr);
  const bool low = range.low < g.low;
  const bool high = range.high >= g.high;
  const Expr& e = pool_.expr(g.expr);
  // The constant goes to the other side: 2 <= row, not row - 2 >= 0.
  const int64_t shift = e.terms.empty() ? 0 : e.constant;
  if (shift == 0 && g.high - g.low == 1) {
    return operand(text(g.expr), Precedence::kRelation) + " == " + std::to_string(g.low);
  }
  CudaText x;
  if (shift == 0) {
    x = text(g.expr);
  } else {
    const std::string whole = text(g.expr).text;
    x = text(g.expr);
    const std::string tail = (shift < 0 ? " - " : " + ") + std::to_string(std::abs(shift));
    if (whole.ends_with(tail)) {
      x.text = whole.substr(0, whole.size() - tail.size());
    } else {
      std::string result;
      if (low) result = operand(x, Precedence::kShift) + " >= " + std::to_string(g.low);
      if (low && high) result += " && ";
      if (high) result += operand(x, Precedence::kShift) + " < " + std::to_string(g.high);
      return result;
    }
  }
  std::string result;
  if (low) result = operand(x, Precedence::kShift) + " >= " + std::to_string(g.low - shift);
  if (low && high) result += " && ";
  if (high) result += operand(x, Precedence::kShift) + " < " + std::to_string(g.high - shift);
  return result;
}

}  // namespace stitch
