#include "planner/absorb/assembly.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "planner/access/value_size.h"

namespace stitch {
namespace {

bool is_copy(const AccessNode& node) {
  return node.kind == AccessKind::kElementwise && node.op == Op::k_bitcast;
}

class InPlaceAssembler {
 public:
  explicit InPlaceAssembler(AccessGraph& graph) : graph_(graph) {
    for (const AccessOutput& output : graph.outputs) taken_.insert(output.value);
    for (const AccessNode& node : graph.nodes) {
      if (node.kind != AccessKind::kContraction) continue;
      for (const AccessValueId source : sources_of(graph, node)) multiplied_.insert(source);
    }
  }

  // Wholes first: a part that is a whole itself has its strides then.
  std::vector<PartInside> run() {
    std::vector<PartInside> all;
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      if (!is_candidate(graph_.nodes[n])) continue;
      std::vector<Placed> parts = parts_of(AccessNodeId(n));
      if (parts.empty()) continue;
      graph_.nodes[n].kind = AccessKind::kAssembly;
      for (Placed& placed : parts) {
        taken_.insert(placed.where.part);
        graph_.values[placed.where.part.index].strides = std::move(placed.strides);
        all.push_back(placed.where);
      }
    }
    return all;
  }

 private:
  struct Placed {
    PartInside where;
    std::vector<int64_t> strides;
  };

  bool is_candidate(const AccessNode& node) const {
    if (!is_copy(node)) return false;
    const std::vector<Piece>& pieces = node.operands[0].pieces;
    return pieces.size() > kMostPieces ||
           (pieces.size() > 1 && std::all_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
              const AccessNodeId producer = graph_.value(piece.source).producer;
              return producer.valid() && is_copy(graph_.node(producer)) &&
                     graph_.node(producer).operands[0].pieces.size() > kMostPieces;
            }));
  }

  // Empty: some piece cannot lie in the result.
  std::vector<Placed> parts_of(AccessNodeId id) {
    const AccessNode node = graph_.node(id);  // a copy: the pool grows
    const std::vector<Piece>& pieces = node.operands[0].pieces;
    const AccessValueId whole = node.results[0];
    AtomId along;
    int64_t begin = 0;
    std::set<AccessValueId> seen;
    std::vector<Placed> parts;
    for (size_t p = 0; p < pieces.size(); ++p) {
      const bool last = p + 1 == pieces.size();
      if (!last && !follows(pieces[p], begin, along)) return {};
      const int64_t end = last ? graph_.pool.atom(along).extent : pieces[p].guards.front().high;
      const AccessValueId part = pieces[p].source;
      if (!may_lie_in(part, whole) || !seen.insert(part).second) return {};
      auto placed = place(pieces[p], whole, along, {begin, end});
      if (!placed) return {};
      parts.push_back(std::move(*placed));
      begin = end;
    }
    return parts;
  }

  // Whether the piece goes on along the same atom where the one before it ended.
  bool follows(const Piece& piece, int64_t begin, AtomId& along) const {
    if (piece.guards.size() != 1) return false;
    const Guard& guard = piece.guards.front();
    const AtomId atom = graph_.pool.as_atom(guard.expr);
    if (!atom.valid() || (along.valid() && atom != along)) return false;
    along = atom;
    return guard.low <= begin && guard.high > begin && guard.high <= graph_.pool.atom(atom).extent;
  }

  bool may_lie_in(AccessValueId part, AccessValueId whole) const {
    const AccessValue& value = graph_.value(part);
    return value.kind == AccessValueKind::kNode && value.dtype == graph_.value(whole).dtype &&
           taken_.count(part) == 0;
  }

  struct Span {
    int64_t begin = 0, end = 0;
  };

  // Where the piece lies in `whole`, when that is a matter of a stride per dim.
  std::optional<Placed> place(const Piece& piece, AccessValueId whole, AtomId along, Span span) {
    IndexPool& pool = graph_.pool;
    const AccessValue& from = graph_.value(piece.source);
    const int64_t points =
        element_count(graph_.value(whole)) / pool.atom(along).extent * (span.end - span.begin);
    if (points != element_count(from)) return std::nullopt;
    const std::vector<ExprId> index = own_index(graph_, whole);
    ExprId offset = pool.weighted_sum(index, graph_.value(whole).strides);
    std::vector<ExprId> source = piece.index;
    if (span.end - span.begin == 1) {
      const IndexPool::AtomMap only = {{along, pool.constant(span.begin)}};
      offset = pool.substitute(offset, only);
      for (ExprId& expr : source) expr = pool.substitute(expr, only);
    }
    Placed placed = {{piece.source, whole, 0}, from.strides};
    for (size_t d = 0; d < source.size(); ++d) {
      if (from.extents[d] == 1) continue;
      const int64_t stride = weight(offset, innermost(source[d]));
      if (stride == 0) return std::nullopt;
      // The calls that read the value were laid out for its strides.
      if (stride != from.strides[d] && must_keep_strides(piece.source)) return std::nullopt;
      placed.strides[d] = stride;
    }
    const ExprId distance = pool.subtract(offset, pool.weighted_sum(source, placed.strides));
    if (!pool.is_constant(distance, &placed.where.first)) return std::nullopt;
    return placed;
  }

  bool must_keep_strides(AccessValueId value) const {
    return multiplied_.count(value) != 0 ||
           graph_.node(graph_.value(value).producer).kind == AccessKind::kContraction;
  }

  // The atom of which neighbouring elements differ by one; none when there is no such atom.
  AtomId innermost(ExprId index) const {
    for (const Term& term : graph_.pool.expr(index).terms) {
      if (term.kind == FactorKind::kAtom && term.coefficient == 1) return term.atom;
    }
    return AtomId();
  }

  int64_t weight(ExprId offset, AtomId atom) const {
    for (const Term& term : graph_.pool.expr(offset).terms) {
      if (term.kind == FactorKind::kAtom && term.atom == atom) return term.coefficient;
    }
    return 0;
  }

  AccessGraph& graph_;
  std::set<AccessValueId> taken_;       // outputs, and parts of other values
  std::set<AccessValueId> multiplied_;  // operands of contractions
};

}  // namespace

std::vector<PartInside> assemble_in_place(AccessGraph& graph) {
  return InPlaceAssembler(graph).run();
}

}  // namespace stitch
