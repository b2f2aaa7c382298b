// floordiv, mod, min and max of index expressions, simplified by the ranges of the factors.
//
// Worked example, a < 5, b < 12, c < 2:   (24*a + 2*b + c + 24) / 8
//   multiples of 8 leave                  3*a + 3 + (2*b + c) / 8
//   c < gcd(2, 8) cannot carry            3*a + 3 + b / 4
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <utility>

#include "graph/error.h"
#include "planner/access/floor_division.h"
#include "planner/access/index_expr.h"

namespace stitch {
namespace {

int64_t common_divisor(int64_t start, const std::vector<Term>& terms) {
  for (const Term& term : terms) start = std::gcd(start, term.coefficient);
  return start;
}

void divide_coefficients(std::vector<Term>& terms, int64_t divisor) {
  for (Term& term : terms) term.coefficient /= divisor;
}

// Divisors of `modulus` that some coefficients share, largest first: those terms may be a high part
// that the other terms never carry into.
std::vector<int64_t> carry_borders(const std::vector<Term>& terms, int64_t modulus) {
  std::vector<int64_t> borders;
  for (const Term& term : terms) {
    const int64_t border = std::gcd(term.coefficient, modulus);
    if (border > 1) borders.push_back(border);
  }
  std::sort(borders.rbegin(), borders.rend());
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  return borders;
}

struct HighLow {
  std::vector<Term> high, low;
};

HighLow split_at(const std::vector<Term>& terms, int64_t border) {
  HighLow parts;
  for (const Term& term : terms) {
    (term.coefficient % border == 0 ? parts.high : parts.low).push_back(term);
  }
  return parts;
}

// The quotient by `divisor` that every value of the range has, if there is one.
std::optional<int64_t> only_quotient(Range range, int64_t divisor) {
  const int64_t low = floor_quotient(range.low, divisor);
  if (low != floor_quotient(range.high, divisor)) return std::nullopt;
  return low;
}

void require_positive(int64_t divisor) {
  if (divisor <= 0) throw InternalError("an index is divided by an extent that is not positive");
}

}  // namespace

ExprId IndexPool::floordiv(ExprId a, int64_t divisor) {
  require_positive(divisor);
  if (divisor == 1) return a;
  const Operation operation = {a, divisor, FactorKind::kFloorDiv};
  if (auto found = done_.find(operation); found != done_.end()) return found->second;
  const ExprId result = divide(a, divisor);
  done_.emplace(operation, result);
  return result;
}

ExprId IndexPool::mod(ExprId a, int64_t divisor) {
  require_positive(divisor);
  if (divisor == 1) return constant(0);
  const Operation operation = {a, divisor, FactorKind::kMod};
  if (auto found = done_.find(operation); found != done_.end()) return found->second;
  const ExprId result = reduce_modulo(a, divisor);
  done_.emplace(operation, result);
  return result;
}

ExprId IndexPool::min(ExprId a, int64_t limit) { return bound(a, limit, FactorKind::kMin); }
ExprId IndexPool::max(ExprId a, int64_t limit) { return bound(a, limit, FactorKind::kMax); }

// Whole multiples of the divisor leave the quotient; the rest is divide_remainder's.
ExprId IndexPool::divide(ExprId a, int64_t divisor) {
  if (auto quotient = only_quotient(range(a), divisor)) return constant(*quotient);
  const Expr whole = expr(a);
  std::vector<Term> outside, inside;
  for (const Term& term : whole.terms) {
    const int64_t quotient = term.coefficient / divisor;
    const int64_t remainder = term.coefficient - quotient * divisor;
    if (quotient != 0) {
      outside.push_back(term);
      outside.back().coefficient = quotient;
    }
    if (remainder != 0) {
      inside.push_back(term);
      inside.back().coefficient = remainder;
    }
  }
  const int64_t outer = floor_quotient(whole.constant, divisor);
  const ExprId rest =
      divide_remainder(whole.constant - outer * divisor, std::move(inside), divisor);
  return add(make_sum(outer, std::move(outside)), rest);
}

// floor((constant + terms) / divisor) where 0 <= constant < divisor and |coefficients| < divisor.
ExprId IndexPool::divide_remainder(int64_t constant_part, std::vector<Term> terms,
                                   int64_t divisor) {
  if (auto quotient = only_quotient(sum_range(constant_part, terms), divisor)) {
    return constant(*quotient);
  }
  if (const int64_t shared = common_divisor(divisor, terms); shared > 1) {
    divide_coefficients(terms, shared);
    return floordiv(make_sum(constant_part / shared, std::move(terms)), divisor / shared);
  }
  for (const int64_t border : carry_borders(terms, divisor)) {
    HighLow parts = split_at(terms, border);
    const auto carry = only_quotient(sum_range(constant_part % border, parts.low), border);
    if (!carry) continue;
    divide_coefficients(parts.high, border);
    return floordiv(make_sum(constant_part / border + *carry, std::move(parts.high)),
                    divisor / border);
  }
  if (terms.size() == 1 && terms[0].coefficient == 1) {
    const Term only = terms[0];
    switch (only.kind) {
      case FactorKind::kFloorDiv:  // (e/m + c) / k = (e + c*m) / (m*k)
        return floordiv(add(only.inner, constant_part * only.operand), only.operand * divisor);
      case FactorKind::kMod:  // (e % (k*n)) / k = (e / k) % n
        if (constant_part != 0 || only.operand % divisor != 0) break;
        return mod(floordiv(only.inner, divisor), only.operand / divisor);
      case FactorKind::kMin:
        return min(floordiv(add(only.inner, constant_part), divisor),
                   floor_quotient(only.operand + constant_part, divisor));
      case FactorKind::kMax:
        return max(floordiv(add(only.inner, constant_part), divisor),
                   floor_quotient(only.operand + constant_part, divisor));
      case FactorKind::kAtom:
      case FactorKind::kRead:
        break;
    }
  }
  Term quotient;
  quotient.kind = FactorKind::kFloorDiv;
  quotient.inner = make_sum(constant_part, std::move(terms));
  quotient.operand = divisor;
  return of_factor(quotient);
}

ExprId IndexPool::reduce_modulo(ExprId a, int64_t divisor) {
  if (auto quotient = only_quotient(range(a), divisor)) return add(a, -*quotient * divisor);
  const Expr whole = expr(a);
  for (size_t i = 0; i < whole.terms.size(); ++i) {
    const Term term = whole.terms[i];
    if (term.kind != FactorKind::kMod || term.coefficient * term.operand % divisor != 0) continue;
    // c*(e % m) and c*e differ by a multiple of c*m.
    std::vector<Term> others = whole.terms;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const ExprId rest = make_sum(whole.constant, std::move(others));
    return mod(add(rest, scale(term.inner, term.coefficient)), divisor);
  }
  const int64_t offset = floor_remainder(whole.constant, divisor);
  std::vector<Term> terms;
  for (const Term& term : whole.terms) {
    Term reduced = term;
    reduced.coefficient = term.coefficient % divisor;
    if (reduced.coefficient == 0) continue;
    terms.push_back(reduced);
  }
  if (auto quotient = only_quotient(sum_range(offset, terms), divisor)) {
    return make_sum(offset - *quotient * divisor, std::move(terms));
  }
  if (const int64_t shared = common_divisor(divisor, terms); shared > 1) {
    divide_coefficients(terms, shared);
    const ExprId inner = mod(make_sum(offset / shared, std::move(terms)), divisor / shared);
    return add(scale(inner, shared), offset % shared);
  }
  for (const int64_t border : carry_borders(terms, divisor)) {
    HighLow parts = split_at(terms, border);
    const auto carry = only_quotient(sum_range(offset % border, parts.low), border);
    if (!carry) continue;
    divide_coefficients(parts.high, border);
    const ExprId high =
        mod(make_sum(offset / border + *carry, std::move(parts.high)), divisor / border);
    return add(scale(high, border),
               make_sum(offset % border - *carry * border, std::move(parts.low)));
  }
  Term remainder;
  remainder.kind = FactorKind::kMod;
  remainder.inner = make_sum(offset, std::move(terms));
  remainder.operand = divisor;
  return of_factor(remainder);
}

// min or max with a constant. The constant part, a common factor and a leading minus go outside:
// min(8 - 4*a, 4) = 8 - 4*max(a, 1).
ExprId IndexPool::bound(ExprId a, int64_t limit, FactorKind kind) {
  const bool is_min = kind == FactorKind::kMin;
  const Range known = range(a);
  if (is_min ? known.high <= limit : known.low >= limit) return a;
  if (is_min ? known.low >= limit : known.high <= limit) return constant(limit);
  const Expr whole = expr(a);
  if (whole.constant != 0) {
    return add(bound(add(a, -whole.constant), limit - whole.constant, kind), whole.constant);
  }
  if (whole.terms[0].coefficient < 0) {
    const FactorKind mirrored = is_min ? FactorKind::kMax : FactorKind::kMin;
    return scale(bound(scale(a, -1), -limit, mirrored), -1);
  }
  if (const int64_t shared = common_divisor(0, whole.terms); shared > 1 && limit % shared == 0) {
    std::vector<Term> terms = whole.terms;
    divide_coefficients(terms, shared);
    return scale(bound(make_sum(0, std::move(terms)), limit / shared, kind), shared);
  }
  if (whole.terms.size() == 1 && whole.terms[0].coefficient == 1 && whole.terms[0].kind == kind) {
    const int64_t other = whole.terms[0].operand;
    return bound(whole.terms[0].inner, is_min ? std::min(limit, other) : std::max(limit, other),
                 kind);
  }
  Term bounded;
  bounded.kind = kind;
  bounded.inner = a;
  bounded.operand = limit;
  return of_factor(bounded);
}

}  // namespace stitch
