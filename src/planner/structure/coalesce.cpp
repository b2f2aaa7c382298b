#include "planner/structure/coalesce.h"

#include <algorithm>
#include <set>
#include <utility>

#include "planner/access/address.h"

namespace stitch {
namespace {

using Pair = std::pair<AtomId, AtomId>;  // outer, inner

// Decides which pairs of neighbours may be merged: every occurrence has a veto.
class MergeVotes {
 public:
  MergeVotes(KernelNodes& nodes, std::span<const AccessValueId> stored) : nodes_(nodes) {
    for (const AccessNodeId id : nodes.nodes()) propose(nodes.graph().node(id));
    for (const AccessNodeId id : nodes.nodes()) {
      const AccessNode node = nodes.graph().node(id);
      check_list(node.axes);
      check_list(node.reduced);
      for (const Read& operand : node.operands) check_read(operand);
      if (node.expression.valid()) check_expression(node.expression);
      for (const Guard& guard : node.guards) check_expression(guard.expr);
    }
    for (const AccessValueId value : stored) {
      check_linear(
          address_of(nodes.graph(), nodes.original_of(value), nodes.index_in_original(value))
              .linear);
    }
  }

  const std::set<Pair>& pairs() const { return pairs_; }

 private:
  template <class Predicate>
  void veto(Predicate breaks) {
    for (auto at = pairs_.begin(); at != pairs_.end();) at = breaks(*at) ? pairs_.erase(at) : ++at;
  }

  void propose(const AccessNode& node) {
    for (const std::vector<AtomId>* list : {&node.axes, &node.reduced}) {
      for (size_t i = 0; i + 1 < list->size(); ++i) pairs_.emplace((*list)[i], (*list)[i + 1]);
    }
  }

  void check_list(const std::vector<AtomId>& list) {
    veto([&](const Pair& pair) {
      const auto outer = std::find(list.begin(), list.end(), pair.first);
      const auto inner = std::find(list.begin(), list.end(), pair.second);
      if (outer == list.end() && inner == list.end()) return false;
      return outer == list.end() || inner == list.end() || outer + 1 != inner;
    });
  }

  void check_read(const Read& read) {
    for (const Piece& piece : read.pieces) {
      for (const Guard& guard : piece.guards) check_expression(guard.expr);
      if (nodes_.producer(piece.source).valid()) {
        check_index(piece.index);
      } else {
        check_linear(address_of(nodes_.graph(), piece.source, piece.index).linear);
      }
    }
  }

  // Of a value of the kernel: both atoms stand alone in neighbouring dims, or none occurs.
  void check_index(const std::vector<ExprId>& index) {
    const auto mentions = [&](ExprId e, AtomId atom) {
      const Coefficient c = coefficient(nodes_.graph(), e, atom);
      return !c.plain || c.value != 0;
    };
    veto([&](const Pair& pair) {
      for (size_t d = 0; d < index.size(); ++d) {
        if (nodes_.pool().as_atom(index[d]) == pair.first) {
          if (d + 1 == index.size() || nodes_.pool().as_atom(index[d + 1]) != pair.second) {
            return true;
          }
          ++d;
          continue;
        }
        if (mentions(index[d], pair.first) || mentions(index[d], pair.second)) return true;
      }
      return false;
    });
    for (const ExprId e : index) check_nested(e);
  }

  void check_linear(ExprId linear) {
    veto([&](const Pair& pair) {
      const Coefficient outer = coefficient(nodes_.graph(), linear, pair.first);
      const Coefficient inner = coefficient(nodes_.graph(), linear, pair.second);
      if (!outer.plain || !inner.plain) return !moves_in_reads_only(linear, pair);
      return outer.value != inner.value * nodes_.pool().atom(pair.second).extent;
    });
    check_nested(linear);
  }

  // An expression of which nothing but the value is known: the pair must not occur.
  void check_expression(ExprId expression) {
    const std::vector<AtomId> atoms = nodes_.pool().atoms_of(expression);
    const auto has = [&](AtomId atom) {
      return std::binary_search(atoms.begin(), atoms.end(), atom);
    };
    veto([&](const Pair& pair) { return has(pair.first) || has(pair.second); });
    check_nested(expression);
  }

  // Reads inside of index expressions are checked as reads of their own.
  void check_nested(ExprId expression) {
    for (const ReadId id : nodes_.pool().reads_of(expression)) {
      const Read read = nodes_.graph().reads[id.index];
      check_read(read);
    }
  }

  bool moves_in_reads_only(ExprId linear, const Pair& pair) const {
    const std::vector<AtomId> atoms = nodes_.pool().atoms_of(linear);
    return !std::binary_search(atoms.begin(), atoms.end(), pair.first) &&
           !std::binary_search(atoms.begin(), atoms.end(), pair.second);
  }

  KernelNodes& nodes_;
  std::set<Pair> pairs_;
};

}  // namespace

void coalesce_atoms(KernelNodes& nodes, std::span<const AccessValueId> stored) {
  std::set<Pair> pairs = MergeVotes(nodes, stored).pairs();
  while (!pairs.empty()) {
    const auto [outer, inner] = *pairs.begin();
    pairs.erase(pairs.begin());
    const AtomId whole = nodes.merge(outer, inner);
    std::set<Pair> renamed;
    for (const auto& [a, b] : pairs) {
      renamed.emplace(a == inner ? whole : a, b == outer ? whole : b);
    }
    pairs = std::move(renamed);
  }
}

}  // namespace stitch
