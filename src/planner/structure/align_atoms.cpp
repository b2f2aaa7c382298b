#include "planner/structure/align_atoms.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "planner/structure/kernel_structure.h"
#include "planner/structure/value_trace.h"

namespace stitch {
namespace {

struct Pair {
  AtomId stored, summed;
};

class AtomAligner {
 public:
  AtomAligner(KernelNodes& nodes, std::span<const AccessValueId> stored)
      : nodes_(nodes), stored_(stored) {}

  void run() {
    find_reduces();
    if (reduces_.empty()) return;
    while (const std::optional<Pair> pair = next()) nodes_.rename(pair->stored, pair->summed);
  }

 private:
  using Load = std::pair<AccessValueId, ExprId>;  // what is loaded, and where

  void find_reduces() {
    for (const AccessNodeId id : nodes_.nodes()) {
      const AccessNode& node = nodes_.graph().node(id);
      if (!is_reduce(node) || is_inline_reduce(nodes_.graph(), node)) continue;
      reduces_.push_back(id);
      results_.insert(node.results.front());
    }
  }

  std::optional<Pair> next() {
    for (const AccessValueId value : stored_) {
      for (const AtomId atom : nodes_.atoms(value)) {
        for (const AccessNodeId reduce : reduces_) {
          const std::vector<AtomId> reduced = nodes_.graph().node(reduce).reduced;
          if (contains(reduced, atom)) break;
          for (const AtomId summed : reduced) {
            const Pair pair = {atom, summed};
            if (may_be_one(pair) && is_cut(atom) && loads_alike(value, reduce, pair)) return pair;
          }
        }
      }
    }
    return std::nullopt;
  }

  bool may_be_one(const Pair& pair) const {
    const int64_t extent = nodes_.pool().atom(pair.stored).extent;
    if (extent == 1 || extent != nodes_.pool().atom(pair.summed).extent) return false;
    return std::none_of(nodes_.nodes().begin(), nodes_.nodes().end(), [&](AccessNodeId id) {
      const AccessNode& node = nodes_.graph().node(id);
      const auto has = [&](AtomId atom) {
        return contains(node.axes, atom) || contains(node.reduced, atom);
      };
      return has(pair.stored) && has(pair.summed);
    });
  }

  // Slices or pieces are read along the atom: only these hide that two indices are one.
  bool is_cut(AtomId atom) const {
    const IndexPool& pool = nodes_.pool();
    const auto cuts = [&](const Piece& piece) {
      if (!piece.guards.empty()) return true;
      return std::any_of(piece.index.begin(), piece.index.end(), [&](ExprId index) {
        return !pool.as_atom(index).valid() && contains(pool.atoms_of(index), atom);
      });
    };
    return std::any_of(nodes_.nodes().begin(), nodes_.nodes().end(), [&](AccessNodeId id) {
      const AccessNode& node = nodes_.graph().node(id);
      return contains(node.axes, atom) &&
             std::any_of(node.operands.begin(), node.operands.end(), [&](const Read& read) {
               return std::any_of(read.pieces.begin(), read.pieces.end(), cuts);
             });
    });
  }

  bool loads_alike(AccessValueId value, AccessNodeId reduce, const Pair& pair) {
    ValueTracer tracer(nodes_, [&](AccessValueId v, bool) { return results_.count(v) != 0; });
    std::set<Load> summed;
    for (const TracedRead& load : tracer.trace_operands(reduce).loads) {
      const std::vector<AtomId> atoms = nodes_.pool().atoms_of(load.address.linear);
      if (contains(atoms, pair.summed)) summed.emplace(load.value, load.address.linear);
    }
    const Trace stored = results_.count(value) != 0 ? tracer.trace_operands(nodes_.producer(value))
                                                    : tracer.trace_value(value);
    return std::any_of(stored.loads.begin(), stored.loads.end(), [&](const TracedRead& load) {
      const ExprId moved = nodes_.pool().substitute(load.address.linear,
                                                    {{pair.stored, nodes_.pool().of(pair.summed)}});
      return moved != load.address.linear && summed.count({load.value, moved}) != 0;
    });
  }

  KernelNodes& nodes_;
  const std::span<const AccessValueId> stored_;
  std::vector<AccessNodeId> reduces_;
  std::set<AccessValueId> results_;
};

}  // namespace

void align_atoms(KernelNodes& nodes, std::span<const AccessValueId> stored) {
  AtomAligner(nodes, stored).run();
}

}  // namespace stitch
