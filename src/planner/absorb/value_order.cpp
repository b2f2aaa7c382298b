#include "planner/absorb/value_order.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <vector>

#include "planner/access/address.h"
#include "planner/access/value_uses.h"

namespace stitch {
namespace {

using Order = std::vector<size_t>;  // dims of more than one element, outer first

// Votes travel along chains of values, forth and back.
constexpr int kRounds = 4;

class OrderChooser {
 public:
  OrderChooser(AccessGraph& graph, const std::function<bool(AccessNodeId)>& is_library)
      : graph_(graph), is_library_(is_library), uses_(graph), votes_(graph.values.size(), true) {}

  void run() {
    std::vector<AccessValueId> values;
    for (const AccessNode& node : graph_.nodes) {
      for (const AccessValueId value : node.results) {
        if (!is_free(value)) continue;
        values.push_back(value);
        votes_[value.index] = false;
      }
    }
    for (int round = 0; round < kRounds; ++round) {
      for (const AccessValueId value : values) choose(value);
      std::reverse(values.begin(), values.end());
    }
  }

 private:
  bool is_free(AccessValueId id) const {
    const AccessValue& value = graph_.value(id);
    const std::vector<AccessNodeId>& readers = uses_.readers[id.index];
    return value.kind == AccessValueKind::kNode && !uses_.is_output[id.index] &&
           !is_library_(value.producer) && !readers.empty() &&
           std::none_of(readers.begin(), readers.end(), is_library_);
  }

  // The order for which most neighbours are; the present one where it has as many votes.
  void choose(AccessValueId id) {
    std::map<Order, int> votes;
    const Order present = present_order(id);
    if (present.size() < 2) return;
    add_operand_votes(id, votes);
    for (const AccessNodeId reader : uses_.readers[id.index]) add_reader_votes(id, reader, votes);
    votes_[id.index] = !votes.empty();
    Order best = present;
    int most = votes[present];
    for (const auto& [order, count] : votes) {
      if (count > most) {
        best = order;
        most = count;
      }
    }
    if (best != present) store(graph_.values[id.index], best);
  }

  static void store(AccessValue& value, const Order& order) {
    int64_t step = 1;
    for (size_t i = order.size(); i-- > 0;) {
      value.strides[order[i]] = step;
      step *= value.extents[order[i]];
    }
    for (size_t d = 0; d < value.extents.size(); ++d) {
      if (value.extents[d] == 1) value.strides[d] = step;
    }
  }

  Order present_order(AccessValueId id) const {
    const AccessValue& value = graph_.value(id);
    return by_steps(value, value.strides);
  }

  static Order by_steps(const AccessValue& value, const std::vector<int64_t>& steps) {
    Order order;
    for (size_t d = 0; d < value.extents.size(); ++d) {
      if (value.extents[d] > 1) order.push_back(d);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return steps[a] > steps[b]; });
    return order;
  }

  void add_operand_votes(AccessValueId id, std::map<Order, int>& votes) {
    const AccessNode node = graph_.node(graph_.value(id).producer);
    for (const Read& operand : node.operands) {
      const Piece& piece = operand.pieces.front();
      if (!votes_[piece.source.index]) continue;
      if (graph_.value(piece.source).strides.size() != piece.index.size()) continue;
      vote(id, own_atoms(id), address_of(graph_, piece.source, piece.index).linear, votes);
    }
  }

  // A reduce is for what it sums to lie side by side, others for the order of their results.
  void add_reader_votes(AccessValueId id, AccessNodeId reader, std::map<Order, int>& votes) {
    const AccessNode node = graph_.node(reader);
    for (const Read& operand : node.operands) {
      const Piece piece = operand.pieces.front();
      if (piece.source != id) continue;
      if (node.kind == AccessKind::kReduce || node.kind == AccessKind::kArgReduce) {
        vote_for_sums(id, node, piece, votes);
        continue;
      }
      const AccessValueId result = node.results.front();
      if (!votes_[result.index]) continue;
      const ExprId stored = address_of(graph_, result, own_index(graph_, result)).linear;
      vote(id, atoms_of_reads(node, piece), stored, votes);
    }
  }

  void vote_for_sums(AccessValueId id, const AccessNode& node, const Piece& piece,
                     std::map<Order, int>& votes) {
    Order order = present_order(id);
    std::stable_partition(order.begin(), order.end(), [&](size_t d) {
      const std::vector<AtomId> atoms = graph_.pool.atoms_of(piece.index[d]);
      return std::none_of(atoms.begin(), atoms.end(), [&](AtomId atom) {
        return std::find(node.reduced.begin(), node.reduced.end(), atom) != node.reduced.end();
      });
    });
    ++votes[order];
  }

  // Per dim: the atom along which neighbours of the value lie; none: one element.
  std::vector<AtomId> own_atoms(AccessValueId id) const {
    std::vector<AtomId> atoms;
    for (const std::vector<AtomId>& dim : graph_.value(id).dims) {
      AtomId last;
      for (const AtomId atom : dim) {
        if (graph_.pool.atom(atom).extent > 1) last = atom;
      }
      atoms.push_back(last);
    }
    return atoms;
  }

  std::vector<AtomId> atoms_of_reads(const AccessNode& node, const Piece& piece) const {
    std::vector<AtomId> atoms;
    for (const ExprId index : piece.index) {
      AtomId found;
      for (const Term& term : graph_.pool.expr(index).terms) {
        const bool is_kept =
            term.kind == FactorKind::kAtom && std::abs(term.coefficient) == 1 &&
            std::find(node.axes.begin(), node.axes.end(), term.atom) != node.axes.end();
        if (is_kept) found = term.atom;
      }
      atoms.push_back(found);
    }
    return atoms;
  }

  // For the order of the steps that an address takes along the dims of the value; no vote where it
  // lacks one of them.
  void vote(AccessValueId id, const std::vector<AtomId>& atoms, ExprId linear,
            std::map<Order, int>& votes) {
    const AccessValue& value = graph_.value(id);
    std::vector<int64_t> steps(value.extents.size(), 0);
    for (size_t d = 0; d < steps.size(); ++d) {
      if (value.extents[d] == 1) continue;
      if (!atoms[d].valid()) return;
      const Coefficient step = coefficient(graph_, linear, atoms[d]);
      if (!step.plain || step.value <= 0) return;
      steps[d] = step.value;
    }
    ++votes[by_steps(value, steps)];
  }

  AccessGraph& graph_;
  const std::function<bool(AccessNodeId)>& is_library_;
  const ValueUses uses_;
  // By value: those that stay as they are, and those for which others have voted. The order in
  // which a model happens to write dims is no reason.
  std::vector<bool> votes_;
};

}  // namespace

void choose_value_orders(AccessGraph& graph, const std::function<bool(AccessNodeId)>& is_library) {
  OrderChooser(graph, is_library).run();
}

}  // namespace stitch
