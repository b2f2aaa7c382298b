// floordiv, mod, min and max of Dims, and the bounds that fold them.
#include <algorithm>
#include <numeric>

#include "graph/dim_expression.h"
#include "graph/error.h"

namespace stitch {
namespace {

using Bound = std::optional<int64_t>;

// Deep enough for the clamps of a Slice; the cost grows with the power of this.
constexpr int kSubstitutionDepth = 4;

Bound lower_bound_of(const Dim& dim, int depth);

Bound upper_bound_of(const Dim& dim, int depth) {
  const Bound bound = lower_bound_of(Dim(-1) * dim, depth);
  return bound ? Bound(-*bound) : std::nullopt;
}

struct Range {
  Bound low, high;
};

Range range_of(const DimAtom& atom, int depth) {
  const auto low = [&](const Dim& dim) { return lower_bound_of(dim, depth); };
  const auto high = [&](const Dim& dim) { return upper_bound_of(dim, depth); };
  const auto smaller = [](Bound a, Bound b) { return a && b ? Bound(std::min(*a, *b)) : Bound(); };
  const auto larger = [](Bound a, Bound b) { return a && b ? Bound(std::max(*a, *b)) : Bound(); };
  switch (atom.kind) {
    case DimAtomKind::kSymbol:
      return {0, std::nullopt};
    case DimAtomKind::kFloorDiv: {
      const Bound a_low = low(atom.a);
      if (atom.b.is_constant() && atom.b.constant() > 0) {
        const Bound a_high = high(atom.a);
        const int64_t b = atom.b.constant();
        return {a_low ? Bound(floor_divide(*a_low, b)) : Bound(),
                a_high ? Bound(floor_divide(*a_high, b)) : Bound()};
      }
      const Bound b_low = low(atom.b);
      if (a_low && *a_low >= 0 && b_low && *b_low >= 0) return {0, high(atom.a)};
      return {};
    }
    case DimAtomKind::kMod:
      if (atom.b.is_constant() && atom.b.constant() > 0) return {0, atom.b.constant() - 1};
      if (const Bound b_low = low(atom.b); b_low && *b_low >= 0) return {0, high(atom.b)};
      return {};
    case DimAtomKind::kMin: {
      const Bound a = high(atom.a), b = high(atom.b);
      return {smaller(low(atom.a), low(atom.b)), a && b ? std::min(*a, *b) : (a ? a : b)};
    }
    case DimAtomKind::kMax: {
      const Bound a = low(atom.a), b = low(atom.b);
      return {a && b ? std::max(*a, *b) : (a ? a : b), larger(high(atom.a), high(atom.b))};
    }
  }
  throw InternalError("a dim atom has no kind");
}

// Lower bound of coefficient * product of atoms.
Bound lower_bound_of(const DimTerm& term, int depth) {
  Range product{1, 1};
  for (const auto& atom : term.atoms) {
    const Range range = range_of(*atom, depth);
    if (!range.low || (*range.low < 0 && term.atoms.size() > 1)) return std::nullopt;
    product.low = checked_multiply(*product.low, *range.low);
    product.high =
        product.high && range.high ? Bound(checked_multiply(*product.high, *range.high)) : Bound();
  }
  if (term.coefficient > 0) return checked_multiply(term.coefficient, *product.low);
  return product.high ? Bound(checked_multiply(term.coefficient, *product.high)) : Bound();
}

// What may stand for `atom` in a term of the given sign without raising the sum.
std::vector<Dim> bounds_below(const DimAtom& atom, bool positive, int depth) {
  switch (atom.kind) {
    case DimAtomKind::kSymbol:
      return {};
    case DimAtomKind::kMin:
      return positive ? std::vector<Dim>{} : std::vector<Dim>{atom.a, atom.b};
    case DimAtomKind::kMax:
      return positive ? std::vector<Dim>{atom.a, atom.b} : std::vector<Dim>{};
    case DimAtomKind::kFloorDiv:
    case DimAtomKind::kMod: {
      // floor(a/b) and mod(a,b) are at most a where a >= 0 and b >= 1.
      const Bound a = lower_bound_of(atom.a, depth);
      const Bound b = lower_bound_of(atom.b, depth);
      const bool holds = !positive && a && *a >= 0 && b && *b >= 1;
      return holds ? std::vector<Dim>{atom.a} : std::vector<Dim>{};
    }
  }
  throw InternalError("a dim atom has no kind");
}

Bound lower_bound_of(const Dim& dim, int depth) {
  if (dim.is_constant()) return dim.constant();
  if (depth == 0) return std::nullopt;
  const DimSum sum = Dim::Expression::sum_of(dim);
  Bound best = sum.constant;
  for (const DimTerm& term : sum.terms) {
    const Bound low = lower_bound_of(term, depth - 1);
    best = best && low ? Bound(checked_add(*best, *low)) : Bound();
  }
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    const DimTerm& term = sum.terms[i];
    if (term.atoms.size() != 1) continue;
    for (const Dim& bound : bounds_below(*term.atoms[0], term.coefficient > 0, depth - 1)) {
      DimSum rest = sum;
      rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(i));
      const Dim replaced = Dim::Expression::make(std::move(rest)) + Dim(term.coefficient) * bound;
      const Bound low = lower_bound_of(replaced, depth - 1);
      if (low && (!best || *low > *best)) best = low;
    }
  }
  return best;
}

// Limits beyond this mean "to the end" (INT64_MAX in a Slice); no extent reaches them.
constexpr int64_t kBeyondExtents = int64_t{1} << 60;

bool proves_at_least(const Dim& a, const Dim& b) {
  const auto beyond = [](const Dim& dim, int64_t sign) {
    return dim.is_constant() &&
           (sign > 0 ? dim.constant() >= kBeyondExtents : dim.constant() <= -kBeyondExtents);
  };
  if (!(a.is_constant() && b.is_constant())) {
    if (beyond(a, 1) || beyond(b, -1)) return true;
    if (beyond(a, -1) || beyond(b, 1)) return false;
  }
  if (a.is_constant() && b.is_constant()) return a.constant() >= b.constant();
  const Bound difference = lower_bound(a - b);
  return difference && *difference >= 0;
}

// a / b where b's atoms are among a's and its coefficient divides a's.
std::optional<DimTerm> divide(const DimTerm& a, const DimTerm& b) {
  if (a.coefficient % b.coefficient != 0) return std::nullopt;
  DimTerm quotient{{}, a.coefficient / b.coefficient};
  size_t matched = 0;
  for (const auto& atom : a.atoms) {
    if (matched < b.atoms.size() && b.atoms[matched]->text == atom->text) {
      ++matched;
    } else {
      quotient.atoms.push_back(atom);
    }
  }
  return matched == b.atoms.size() ? std::optional(quotient) : std::nullopt;
}

// Polynomial division; nothing when a remainder is left.
std::optional<Dim> divide_exactly(Dim a, const Dim& b) {
  const DimSum divisor = Dim::Expression::sum_of(b);
  const DimTerm lead = divisor.terms.empty() ? DimTerm{{}, divisor.constant} : divisor.terms[0];
  if (lead.coefficient == 0) return std::nullopt;
  Dim quotient = 0;
  // Each step removes the leading term, and what it adds comes later in the order.
  for (int step = 0; step < 64 && !(a == Dim(0)); ++step) {
    const DimSum rest = Dim::Expression::sum_of(a);
    const DimTerm first = rest.terms.empty() ? DimTerm{{}, rest.constant} : rest.terms[0];
    const auto term = divide(first, lead);
    if (!term) return std::nullopt;
    const Dim part = Dim::Expression::make(DimSum{{*term}, 0});
    quotient = quotient + part;
    a = a - part * b;
  }
  return a == Dim(0) ? std::optional(quotient) : std::nullopt;
}

struct Division {
  Dim quotient;   // what comes out of the floor
  Dim remainder;  // what stays in it
};

// Takes the terms that the divisor divides out of floor(a / divisor).
Division split(const Dim& a, const DimTerm& divisor) {
  DimSum quotient, remainder;
  DimSum sum = Dim::Expression::sum_of(a);
  for (DimTerm& term : sum.terms) {
    if (auto part = divide(term, divisor)) {
      quotient.terms.push_back(std::move(*part));
    } else {
      remainder.terms.push_back(std::move(term));
    }
  }
  if (divisor.atoms.empty()) {
    quotient.constant = floor_divide(sum.constant, divisor.coefficient);
    remainder.constant = sum.constant - quotient.constant * divisor.coefficient;
  } else {
    remainder.constant = sum.constant;
  }
  return {Dim::Expression::make(std::move(quotient)), Dim::Expression::make(std::move(remainder))};
}

Dim make_atom(DimAtomKind kind, const Dim& a, const Dim& b) {
  DimAtom atom;
  atom.kind = kind;
  atom.a = a;
  atom.b = b;
  return Dim::Expression::make(std::move(atom));
}

bool lies_within(const Dim& dim, int64_t limit) {
  const Bound low = lower_bound(dim), high = upper_bound(dim);
  return low && *low >= 0 && high && *high < limit;
}

// floor(a / c) for a constant c > 1 and an `a` without terms that c divides.
Dim floor_of_rest(const Dim& a, int64_t c) {
  if (a.is_constant()) return floor_divide(a.constant(), c);
  if (lies_within(a, c)) return 0;
  DimSum sum = Dim::Expression::sum_of(a);
  int64_t common = c;
  for (const DimTerm& term : sum.terms) common = std::gcd(common, term.coefficient);
  if (common > 1) {  // floor((g*u + k) / (g*v)) = floor((u + floor(k/g)) / v)
    for (DimTerm& term : sum.terms) term.coefficient /= common;
    sum.constant = floor_divide(sum.constant, common);
    return floordiv(Dim::Expression::make(std::move(sum)), c / common);
  }
  const DimTerm& term = sum.terms[0];
  if (sum.terms.size() == 1 && term.coefficient == 1 && term.atoms.size() == 1) {
    const DimAtom& atom = *term.atoms[0];
    if (atom.kind == DimAtomKind::kFloorDiv && atom.b.is_constant() && atom.b.constant() > 0) {
      // floor((floor(x/d) + k) / c) = floor((x + k*d) / (c*d)), as in chains of strided windows
      const int64_t d = atom.b.constant();
      return floordiv(atom.a + checked_multiply(sum.constant, d), checked_multiply(c, d));
    }
  }
  return make_atom(DimAtomKind::kFloorDiv, a, c);
}

}  // namespace

std::optional<int64_t> lower_bound(const Dim& dim) {
  return lower_bound_of(dim, kSubstitutionDepth);
}

std::optional<int64_t> upper_bound(const Dim& dim) {
  return upper_bound_of(dim, kSubstitutionDepth);
}

Dim floordiv(const Dim& a, const Dim& b) {
  if (b.is_constant()) {
    const int64_t c = b.constant();
    if (c == 0) throw ModelError("the extent " + a.to_string() + " is divided by zero");
    if (a.is_constant()) return floor_divide(a.constant(), c);
    if (c < 0) return floordiv(Dim(-1) * a, -c);
    const Division division = split(a, DimTerm{{}, c});
    return division.quotient + floor_of_rest(division.remainder, c);
  }
  if (a == Dim(0)) return 0;
  if (const auto exact = divide_exactly(a, b)) return *exact;
  const DimSum divisor = Dim::Expression::sum_of(b);
  if (divisor.terms.size() == 1 && divisor.constant == 0) {
    const Division division = split(a, divisor.terms[0]);
    if (!(division.quotient == Dim(0))) {
      return division.quotient + make_atom(DimAtomKind::kFloorDiv, division.remainder, b);
    }
  }
  return make_atom(DimAtomKind::kFloorDiv, a, b);
}

Dim mod(const Dim& a, const Dim& b) {
  if (b.is_constant()) {
    const int64_t c = b.constant();
    if (c == 0) throw ModelError("the extent " + a.to_string() + " is divided by zero");
    if (a.is_constant()) return a.constant() - floor_divide(a.constant(), c) * c;
    if (c < 0) return Dim(-1) * mod(Dim(-1) * a, -c);
    DimSum sum = Dim::Expression::sum_of(a);
    for (DimTerm& term : sum.terms) {
      term.coefficient -= floor_divide(term.coefficient, c) * c;
    }
    sum.constant -= floor_divide(sum.constant, c) * c;
    const Dim rest = Dim::Expression::make(std::move(sum));
    if (rest.is_constant() || lies_within(rest, c)) return rest;
    return make_atom(DimAtomKind::kMod, rest, c);
  }
  if (divide_exactly(a, b)) return 0;
  return make_atom(DimAtomKind::kMod, a, b);
}

Dim min(const Dim& a, const Dim& b) {
  if (proves_at_least(b, a)) return a;
  if (proves_at_least(a, b)) return b;
  const bool in_order = a.to_string() < b.to_string();
  return make_atom(DimAtomKind::kMin, in_order ? a : b, in_order ? b : a);
}

Dim max(const Dim& a, const Dim& b) {
  if (proves_at_least(a, b)) return a;
  if (proves_at_least(b, a)) return b;
  const bool in_order = a.to_string() < b.to_string();
  return make_atom(DimAtomKind::kMax, in_order ? a : b, in_order ? b : a);
}

}  // namespace stitch
