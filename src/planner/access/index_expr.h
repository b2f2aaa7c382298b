// Index expressions over axis atoms: the one form in which planner, plan and emitter write where an
// element is read.
//
// An expression is an affine sum  constant + sum(coefficient * factor)  in canonical form; a factor
// is an atom, floordiv(e, k), mod(e, k), min(e, k), max(e, k), or an integer that a tensor holds
// (gather). Known ranges of the atoms simplify: with head < 12 and lane < 64,
//   (head*64 + lane) / 64 = head,   (head*64 + lane) % 64 = lane.
#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/ids.h"

namespace stitch {

using AtomId = Id<struct AtomTag>;
using ExprId = Id<struct ExprTag>;
using ReadId = Id<struct ReadTag>;

// One loop index with 0 <= index < extent. Two nodes see the same index exactly when they hold the
// same atom (stitching.md 6a).
struct Atom {
  int64_t extent = 1;
  std::string name;  // a hint for emitted code: "token", "head", "row"; may be empty
};

enum class FactorKind : uint8_t { kAtom, kFloorDiv, kMod, kMin, kMax, kRead };

struct Term {
  int64_t coefficient = 1;
  FactorKind kind = FactorKind::kAtom;
  AtomId atom;          // kAtom
  ExprId inner;         // kFloorDiv, kMod, kMin, kMax
  int64_t operand = 0;  // the divisor, or the other operand of min and max
  ReadId read;          // kRead: an integer element, see AccessGraph::reads
  friend bool operator==(const Term&, const Term&) = default;
};

struct Expr {
  int64_t constant = 0;
  std::vector<Term> terms;  // canonical: sorted, coefficients not 0, factors distinct
};

struct Range {
  int64_t low = 0;
  int64_t high = 0;  // inclusive
};

// Owns atoms and hash-consed expressions: equal expressions have equal ids.
class IndexPool {
 public:
  AtomId add_atom(int64_t extent, std::string name = {});
  const Atom& atom(AtomId id) const { return atoms_[id.index]; }
  Atom& mutable_atom(AtomId id) { return atoms_[id.index]; }
  size_t atom_count() const { return atoms_.size(); }
  size_t expr_count() const { return exprs_.size(); }

  ExprId constant(int64_t value);
  ExprId of(AtomId atom);
  // `range` bounds the value that is read (after negative indices were normalised and clamped); the
  // same read always has the same range.
  ExprId of(ReadId read, Range range);
  ExprId add(ExprId a, ExprId b);
  ExprId add(ExprId a, int64_t constant);
  ExprId subtract(ExprId a, ExprId b);
  ExprId scale(ExprId a, int64_t factor);
  ExprId divide_exactly(ExprId a, int64_t divisor);  // all coefficients are multiples
  ExprId floordiv(ExprId a, int64_t divisor);        // divisor > 0
  ExprId mod(ExprId a, int64_t divisor);             // in [0, divisor)
  ExprId min(ExprId a, int64_t bound);
  ExprId max(ExprId a, int64_t bound);

  const Expr& expr(ExprId id) const { return exprs_[id.index]; }
  Range range(ExprId id) const;
  bool is_constant(ExprId id, int64_t* value = nullptr) const;
  // The atom when the expression is exactly one atom, else none.
  AtomId as_atom(ExprId id) const;
  // Whether the expression is what of() makes of the atom.
  bool is(ExprId id, AtomId atom) const;
  // Atoms anywhere inside, sorted, without duplicates (not those inside of reads).
  std::vector<AtomId> atoms_of(ExprId id) const;
  bool has_read(ExprId id) const;
  // Reads anywhere inside, sorted, without duplicates (not those inside of reads).
  std::vector<ReadId> reads_of(ExprId id) const;
  Range read_range(ReadId read) const { return read_ranges_[read.index]; }
  // Replaces atoms. A read keeps its id unless `map_read` gives another expression for it:
  // AccessSubstitution (access_substitute.h) rewrites what is read.
  using AtomMap = std::unordered_map<AtomId, ExprId>;
  using ReadMap = std::function<ExprId(ReadId)>;
  ExprId substitute(ExprId id, const AtomMap& map, const ReadMap& map_read = {});
  // The same with a memo that the caller keeps while the maps stay as they are.
  using ExprMemo = std::unordered_map<ExprId, ExprId>;
  ExprId substitute(ExprId id, const AtomMap& map, const ReadMap& map_read, ExprMemo& done);

  // sum(index[i] * strides[i]).
  ExprId weighted_sum(std::span<const ExprId> index, std::span<const int64_t> strides);
  ExprId weighted_sum(std::initializer_list<ExprId> index, std::initializer_list<int64_t> strides) {
    return weighted_sum(std::span(index.begin(), index.size()),
                        std::span(strides.begin(), strides.size()));
  }
  // sum(index[i] * stride of dim i) for row-major extents.
  ExprId linearise(const std::vector<ExprId>& index, const std::vector<int64_t>& extents);
  // The inverse: `linear` taken apart into one expression per extent.
  std::vector<ExprId> delinearise(ExprId linear, const std::vector<int64_t>& extents);
  // A copy that lives as long as the pool; equal lists are stored once.
  std::span<const ExprId> list(std::span<const ExprId> expressions);
  // "a3*64 + (a1 / 12)", for dumps and the text form.
  std::string to_string(ExprId id) const;

 private:
  ExprId intern(Expr expr);
  void grow_slots();
  ExprId make_sum(int64_t constant, std::vector<Term> terms);
  bool recombine(std::vector<Term>& terms, int64_t& constant);
  bool is_remainder(const Term& remainder, ExprId a);
  ExprId of_factor(Term term) { return make_sum(0, {term}); }
  Range factor_range(const Term& term) const;
  Range sum_range(int64_t constant, const std::vector<Term>& terms) const;
  ExprId divide(ExprId a, int64_t divisor);
  ExprId divide_remainder(int64_t constant, std::vector<Term> terms, int64_t divisor);
  ExprId reduce_modulo(ExprId a, int64_t divisor);
  ExprId bound(ExprId a, int64_t bound, FactorKind kind);

  struct Operation {
    ExprId expr;
    int64_t operand = 0;
    FactorKind kind = FactorKind::kAtom;
    friend bool operator==(const Operation&, const Operation&) = default;
  };
  struct OperationHash {
    size_t operator()(const Operation& operation) const noexcept;
  };

  struct ListHash {
    size_t operator()(const std::vector<ExprId>& list) const noexcept;
  };

  std::vector<Atom> atoms_;
  std::vector<Expr> exprs_;
  std::vector<Range> ranges_;       // of exprs_
  std::vector<Range> read_ranges_;  // of ReadId
  std::vector<ExprId> atom_exprs_;  // of AtomId, as far as they were asked for
  std::vector<uint64_t> hashes_;    // of exprs_
  std::vector<ExprId> slots_;       // of exprs_ by hash, open addressing; a power of two
  std::unordered_set<std::vector<ExprId>, ListHash> lists_;
  std::unordered_map<Operation, ExprId, OperationHash> done_;  // results of floordiv, mod, min, max
};

}  // namespace stitch
