#include "planner/access/index_expr.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "graph/error.h"
#include "planner/access/floor_division.h"

namespace stitch {
namespace {

auto factor_key(const Term& term) {
  return std::tuple(term.kind, term.atom.index, term.inner.index, term.operand, term.read.index);
}

uint64_t mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdull;
}

uint64_t hash_of(const Expr& expr) {
  uint64_t hash = mix(0, static_cast<uint64_t>(expr.constant));
  for (const Term& term : expr.terms) {
    hash = mix(hash, static_cast<uint64_t>(term.coefficient));
    hash = mix(hash, static_cast<uint64_t>(term.kind));
    hash = mix(hash, term.atom.index);
    hash = mix(hash, term.inner.index);
    hash = mix(hash, static_cast<uint64_t>(term.operand));
    hash = mix(hash, term.read.index);
  }
  return hash;
}

}  // namespace

size_t IndexPool::OperationHash::operator()(const Operation& operation) const noexcept {
  uint64_t hash = mix(operation.expr.index, static_cast<uint64_t>(operation.kind));
  return static_cast<size_t>(mix(hash, static_cast<uint64_t>(operation.operand)));
}

size_t IndexPool::ListHash::operator()(const std::vector<ExprId>& list) const noexcept {
  uint64_t hash = list.size();
  for (const ExprId expression : list) hash = mix(hash, expression.index);
  return static_cast<size_t>(hash);
}

std::span<const ExprId> IndexPool::list(std::span<const ExprId> expressions) {
  return *lists_.emplace(expressions.begin(), expressions.end()).first;
}

AtomId IndexPool::add_atom(int64_t extent, std::string name) {
  atoms_.push_back({extent, std::move(name)});
  return AtomId(atoms_.size() - 1);
}

ExprId IndexPool::constant(int64_t value) { return intern({value, {}}); }

ExprId IndexPool::of(AtomId atom) {
  if (atoms_[atom.index].extent == 1) return constant(0);
  if (atom.index >= atom_exprs_.size()) atom_exprs_.resize(atoms_.size());
  if (atom_exprs_[atom.index].valid()) return atom_exprs_[atom.index];
  Term term;
  term.atom = atom;
  return atom_exprs_[atom.index] = of_factor(term);
}

ExprId IndexPool::of(ReadId read, Range range) {
  if (read.index >= read_ranges_.size()) read_ranges_.resize(read.index + 1);
  read_ranges_[read.index] = range;
  if (range.low == range.high) return constant(range.low);
  Term term;
  term.kind = FactorKind::kRead;
  term.read = read;
  return of_factor(term);
}

ExprId IndexPool::add(ExprId a, ExprId b) {
  const Expr& left = expr(a);
  const Expr& right = expr(b);
  if (right.terms.empty()) return add(a, right.constant);
  if (left.terms.empty()) return add(b, left.constant);
  std::vector<Term> terms = left.terms;
  terms.insert(terms.end(), right.terms.begin(), right.terms.end());
  return make_sum(left.constant + right.constant, std::move(terms));
}

ExprId IndexPool::add(ExprId a, int64_t value) {
  if (value == 0) return a;
  Expr sum = expr(a);
  sum.constant += value;
  return intern(std::move(sum));
}

ExprId IndexPool::subtract(ExprId a, ExprId b) { return add(a, scale(b, -1)); }

ExprId IndexPool::scale(ExprId a, int64_t factor) {
  if (factor == 1) return a;
  if (factor == 0) return constant(0);
  Expr product = expr(a);
  product.constant *= factor;
  for (Term& term : product.terms) term.coefficient *= factor;
  return intern(std::move(product));
}

ExprId IndexPool::divide_exactly(ExprId a, int64_t divisor) {
  Expr quotient = expr(a);
  quotient.constant /= divisor;
  for (Term& term : quotient.terms) term.coefficient /= divisor;
  return intern(std::move(quotient));
}

Range IndexPool::range(ExprId id) const { return ranges_[id.index]; }

bool IndexPool::is_constant(ExprId id, int64_t* value) const {
  const Expr& e = expr(id);
  if (!e.terms.empty()) return false;
  if (value != nullptr) *value = e.constant;
  return true;
}

AtomId IndexPool::as_atom(ExprId id) const {
  const Expr& e = expr(id);
  const bool single = e.constant == 0 && e.terms.size() == 1 && e.terms[0].coefficient == 1 &&
                      e.terms[0].kind == FactorKind::kAtom;
  return single ? e.terms[0].atom : AtomId();
}

std::vector<AtomId> IndexPool::atoms_of(ExprId id) const {
  std::vector<AtomId> atoms;
  std::vector<ExprId> open = {id};
  while (!open.empty()) {
    const Expr& e = expr(open.back());
    open.pop_back();
    for (const Term& term : e.terms) {
      if (term.kind == FactorKind::kAtom) atoms.push_back(term.atom);
      if (term.inner.valid()) open.push_back(term.inner);
    }
  }
  std::sort(atoms.begin(), atoms.end());
  atoms.erase(std::unique(atoms.begin(), atoms.end()), atoms.end());
  return atoms;
}

bool IndexPool::has_read(ExprId id) const {
  return std::any_of(expr(id).terms.begin(), expr(id).terms.end(), [&](const Term& term) {
    return term.kind == FactorKind::kRead || (term.inner.valid() && has_read(term.inner));
  });
}

std::vector<ReadId> IndexPool::reads_of(ExprId id) const {
  std::vector<ReadId> reads;
  std::vector<ExprId> open = {id};
  while (!open.empty()) {
    const Expr& e = expr(open.back());
    open.pop_back();
    for (const Term& term : e.terms) {
      if (term.kind == FactorKind::kRead) reads.push_back(term.read);
      if (term.inner.valid()) open.push_back(term.inner);
    }
  }
  std::sort(reads.begin(), reads.end());
  reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
  return reads;
}

bool IndexPool::is(ExprId id, AtomId atom) const {
  const Expr& e = expr(id);
  if (e.constant != 0) return false;
  if (e.terms.empty()) return atoms_[atom.index].extent == 1;
  return e.terms.size() == 1 && e.terms[0].kind == FactorKind::kAtom &&
         e.terms[0].coefficient == 1 && e.terms[0].atom == atom;
}

ExprId IndexPool::substitute(ExprId id, const AtomMap& map, const ReadMap& map_read) {
  // Most are constants and atoms.
  if (expr(id).terms.empty()) return id;
  if (const AtomId atom = as_atom(id); atom.valid()) {
    const auto found = map.find(atom);
    return found == map.end() ? id : found->second;
  }
  ExprMemo done;
  return substitute(id, map, map_read, done);
}

ExprId IndexPool::substitute(ExprId id, const AtomMap& map, const ReadMap& map_read,
                             ExprMemo& done) {
  if (auto found = done.find(id); found != done.end()) return found->second;
  const Expr old = expr(id);  // a copy: interning moves the expressions
  std::vector<Term> kept;
  ExprId moved = constant(0);
  for (const Term& term : old.terms) {
    ExprId value;
    switch (term.kind) {
      case FactorKind::kAtom:
        if (auto to = map.find(term.atom); to != map.end()) value = to->second;
        break;
      case FactorKind::kFloorDiv:
        value = floordiv(substitute(term.inner, map, map_read, done), term.operand);
        break;
      case FactorKind::kMod:
        value = mod(substitute(term.inner, map, map_read, done), term.operand);
        break;
      case FactorKind::kMin:
        value = min(substitute(term.inner, map, map_read, done), term.operand);
        break;
      case FactorKind::kMax:
        value = max(substitute(term.inner, map, map_read, done), term.operand);
        break;
      case FactorKind::kRead:
        if (map_read) value = map_read(term.read);
        break;
    }
    if (value.valid()) {
      moved = add(moved, scale(value, term.coefficient));
    } else {
      kept.push_back(term);
    }
  }
  const ExprId result = add(make_sum(old.constant, std::move(kept)), moved);
  done.emplace(id, result);
  return result;
}

ExprId IndexPool::weighted_sum(std::span<const ExprId> index, std::span<const int64_t> strides) {
  if (index.size() != strides.size()) {
    throw InternalError("an index and its strides differ in rank");
  }
  int64_t offset = 0;
  std::vector<Term> terms;
  for (size_t d = 0; d < index.size(); ++d) {
    const Expr& e = expr(index[d]);
    offset += e.constant * strides[d];
    if (strides[d] == 0) continue;
    for (Term term : e.terms) {
      term.coefficient *= strides[d];
      terms.push_back(term);
    }
  }
  return make_sum(offset, std::move(terms));
}

ExprId IndexPool::linearise(const std::vector<ExprId>& index, const std::vector<int64_t>& extents) {
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t d = extents.size(); d-- > 1;) strides[d - 1] = strides[d] * extents[d];
  return weighted_sum(index, strides);
}

std::vector<ExprId> IndexPool::delinearise(ExprId linear, const std::vector<int64_t>& extents) {
  std::vector<ExprId> index(extents.size(), constant(0));
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return index;  // never read
  size_t first = 0;
  while (first < extents.size() && extents[first] == 1) ++first;
  for (size_t d = extents.size(); d-- > first;) {
    if (d == first) {
      index[d] = linear;
    } else {
      index[d] = mod(linear, extents[d]);
      linear = floordiv(linear, extents[d]);
    }
  }
  return index;
}

// Sorts by factor, adds up equal factors, joins quotients with their remainders.
ExprId IndexPool::make_sum(int64_t constant, std::vector<Term> terms) {
  bool again = true;
  while (again) {
    std::sort(terms.begin(), terms.end(),
              [](const Term& a, const Term& b) { return factor_key(a) < factor_key(b); });
    size_t kept = 0;
    for (size_t i = 0; i < terms.size();) {
      Term sum = terms[i++];
      while (i < terms.size() && factor_key(terms[i]) == factor_key(sum)) {
        sum.coefficient += terms[i++].coefficient;
      }
      if (sum.coefficient != 0) terms[kept++] = sum;
    }
    terms.resize(kept);
    again = terms.size() > 1 && recombine(terms, constant);
  }
  return intern({constant, std::move(terms)});
}

// c*(e % k) + c*k*(e / k) = c*e, and c*(e % k) + c*k*((e / k) % m) = c*(e % (k*m)). The remainder
// may be written by another expression than the quotient: with f = 16*(r % 49) + j the first stands
// as (16*r + j) % 28, since 28 divides 16*49, beside f / 28. True when a pair was replaced; the
// terms are then no longer sorted.
bool IndexPool::recombine(std::vector<Term>& terms, int64_t& constant) {
  for (size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].kind != FactorKind::kMod) continue;
    const Term low = terms[i];
    for (size_t j = 0; j < terms.size(); ++j) {
      const Term high = terms[j];
      if (j == i || high.coefficient != low.coefficient * low.operand) continue;
      if (high.kind == FactorKind::kAtom || high.kind == FactorKind::kRead) continue;
      const ExprId quotient = floordiv(low.inner, low.operand);
      const Expr& q = expr(quotient);
      ExprId whole;
      if (q.constant == 0 && q.terms.size() == 1 && q.terms[0].coefficient == 1 &&
          factor_key(q.terms[0]) == factor_key(high)) {
        whole = low.inner;
      } else if (high.kind == FactorKind::kMod && high.inner == quotient) {
        whole = mod(low.inner, low.operand * high.operand);
      } else if (high.kind == FactorKind::kFloorDiv && high.operand == low.operand &&
                 is_remainder(low, high.inner)) {
        whole = high.inner;
      } else {
        continue;
      }
      terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(std::max(i, j)));
      terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(std::min(i, j)));
      const Expr& joined = expr(whole);
      constant += joined.constant * low.coefficient;
      for (Term term : joined.terms) {
        term.coefficient *= low.coefficient;
        terms.push_back(term);
      }
      return true;
    }
  }
  return false;
}

// Whether a % k is what `remainder`, which is something % k, says.
bool IndexPool::is_remainder(const Term& remainder, ExprId a) {
  const Expr& reduced = expr(mod(a, remainder.operand));
  return reduced.constant == 0 && reduced.terms.size() == 1 && reduced.terms[0].coefficient == 1 &&
         factor_key(reduced.terms[0]) == factor_key(remainder);
}

ExprId IndexPool::intern(Expr expr) {
  if (2 * (exprs_.size() + 1) > slots_.size()) grow_slots();
  const uint64_t hash = hash_of(expr);
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  for (; slots_[slot].valid(); slot = (slot + 1) & mask) {
    const ExprId id = slots_[slot];
    const Expr& known = exprs_[id.index];
    if (hashes_[id.index] == hash && known.constant == expr.constant && known.terms == expr.terms) {
      return id;
    }
  }
  const ExprId id(exprs_.size());
  ranges_.push_back(sum_range(expr.constant, expr.terms));
  exprs_.push_back(std::move(expr));
  hashes_.push_back(hash);
  slots_[slot] = id;
  return id;
}

// At most half of the slots are taken.
void IndexPool::grow_slots() {
  constexpr size_t kFewest = 64;
  slots_.assign(std::max(kFewest, 2 * slots_.size()), ExprId());
  const size_t mask = slots_.size() - 1;
  for (size_t e = 0; e < hashes_.size(); ++e) {
    size_t slot = hashes_[e] & mask;
    while (slots_[slot].valid()) slot = (slot + 1) & mask;
    slots_[slot] = ExprId(e);
  }
}

Range IndexPool::factor_range(const Term& term) const {
  switch (term.kind) {
    case FactorKind::kAtom:
      return {0, std::max<int64_t>(atoms_[term.atom.index].extent - 1, 0)};
    case FactorKind::kFloorDiv:
      return {floor_quotient(range(term.inner).low, term.operand),
              floor_quotient(range(term.inner).high, term.operand)};
    case FactorKind::kMod:
      return {0, term.operand - 1};
    case FactorKind::kMin:
      return {std::min(range(term.inner).low, term.operand),
              std::min(range(term.inner).high, term.operand)};
    case FactorKind::kMax:
      return {std::max(range(term.inner).low, term.operand),
              std::max(range(term.inner).high, term.operand)};
    case FactorKind::kRead:
      return read_ranges_[term.read.index];
  }
  throw InternalError("a factor of an index expression has no kind");
}

Range IndexPool::sum_range(int64_t constant, const std::vector<Term>& terms) const {
  Range sum = {constant, constant};
  for (const Term& term : terms) {
    const Range factor = factor_range(term);
    const bool positive = term.coefficient > 0;
    sum.low += term.coefficient * (positive ? factor.low : factor.high);
    sum.high += term.coefficient * (positive ? factor.high : factor.low);
  }
  return sum;
}

}  // namespace stitch
