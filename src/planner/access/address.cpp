#include "planner/access/address.h"

#include <algorithm>

namespace stitch {
namespace {

bool mentions(const AccessGraph& graph, ExprId expression, AtomId atom) {
  const std::vector<AtomId> atoms = graph.pool.atoms_of(expression);
  if (std::binary_search(atoms.begin(), atoms.end(), atom)) return true;
  for (const ReadId read : graph.pool.reads_of(expression)) {
    for (const Piece& piece : graph.reads[read.index].pieces) {
      for (const ExprId index : piece.index) {
        if (mentions(graph, index, atom)) return true;
      }
      for (const Guard& guard : piece.guards) {
        if (mentions(graph, guard.expr, atom)) return true;
      }
    }
  }
  return false;
}

bool term_mentions(const AccessGraph& graph, const Term& term, AtomId atom) {
  switch (term.kind) {
    case FactorKind::kAtom:
      return term.atom == atom;
    case FactorKind::kFloorDiv:
    case FactorKind::kMod:
    case FactorKind::kMin:
    case FactorKind::kMax:
      return mentions(graph, term.inner, atom);
    case FactorKind::kRead:
      for (const Piece& piece : graph.reads[term.read.index].pieces) {
        for (const ExprId index : piece.index) {
          if (mentions(graph, index, atom)) return true;
        }
      }
      return false;
  }
  return false;
}

}  // namespace

Address address_of(AccessGraph& graph, AccessValueId value, std::span<const ExprId> index) {
  const AccessValue& source = graph.value(value);
  const int64_t element_bytes = size_bytes(source.dtype);
  const std::vector<int64_t> strides = source.strides;
  return {graph.pool.weighted_sum(index, strides), element_bytes};
}

Coefficient coefficient(const AccessGraph& graph, ExprId linear, AtomId atom) {
  Coefficient result;
  for (const Term& term : graph.pool.expr(linear).terms) {
    if (!term_mentions(graph, term, atom)) continue;
    if (term.kind == FactorKind::kAtom) {
      result.value = term.coefficient;
    } else {
      result.plain = false;
    }
  }
  return result;
}

std::vector<AtomId> by_falling_step(const AccessGraph& graph, ExprId linear,
                                    std::vector<AtomId> atoms) {
  const auto step = [&](AtomId atom) {
    const Coefficient c = coefficient(graph, linear, atom);
    return c.plain && c.value != 0 ? std::abs(c.value) : INT64_MAX;
  };
  std::stable_sort(atoms.begin(), atoms.end(),
                   [&](AtomId a, AtomId b) { return step(a) > step(b); });
  return atoms;
}

int64_t vector_width(const AccessGraph& graph, ExprId linear, AtomId atom, int64_t limit) {
  const Coefficient own = coefficient(graph, linear, atom);
  if (!own.plain || own.value != 1) return 1;
  const Expr& sum = graph.pool.expr(linear);
  int64_t width = limit;
  while (width > 1) {
    bool fits = graph.pool.atom(atom).extent % width == 0 && sum.constant % width == 0;
    for (const Term& term : sum.terms) {
      const bool is_own = term.kind == FactorKind::kAtom && term.atom == atom;
      if (!is_own && term.coefficient % width != 0) fits = false;
    }
    if (fits) break;
    width /= 2;
  }
  return width;
}

}  // namespace stitch
