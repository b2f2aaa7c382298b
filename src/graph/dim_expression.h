// The normal form behind a symbolic Dim: a sum of products of atoms.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "graph/dim.h"

namespace stitch {

enum class DimAtomKind : uint8_t { kSymbol, kFloorDiv, kMod, kMin, kMax };

// A factor that the normal form does not look into: a symbol, or a division, remainder, minimum or
// maximum of two Dims.
struct DimAtom {
  DimAtomKind kind = DimAtomKind::kSymbol;
  std::string name;  // of a symbol
  Dim a, b;          // of the other kinds
  std::string text;  // equal text means equal atoms
};

struct DimTerm {
  std::vector<std::shared_ptr<const DimAtom>> atoms;  // sorted by text, repeated for powers
  int64_t coefficient = 0;
};

// Terms by falling degree, then by text; no zero coefficients, no two terms of equal atoms.
struct DimSum {
  std::vector<DimTerm> terms;
  int64_t constant = 0;
};

struct Dim::Expression {
  DimSum sum;
  std::string text;

  static DimSum sum_of(const Dim& dim);
  // Brings terms into normal form.
  static Dim make(DimSum sum);
  static Dim make(DimAtom atom);
};

// Positive: `a` comes before `b` in the normal form; zero: equal atoms. A product with a third
// monomial keeps the order, which polynomial division needs.
int order_of(const DimTerm& a, const DimTerm& b);

int64_t checked_add(int64_t a, int64_t b);
int64_t checked_multiply(int64_t a, int64_t b);
int64_t floor_divide(int64_t a, int64_t b);

// dim_text.cpp
std::string text_of(const DimSum& sum);
std::string text_of(const DimAtom& atom);

}  // namespace stitch
