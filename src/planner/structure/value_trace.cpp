#include "planner/structure/value_trace.h"

#include <optional>
#include <utility>

#include "graph/hash.h"
#include "planner/access/read_rewriter.h"

namespace stitch {

// Where a node is evaluated: at its own atoms, or at expressions for them.
struct ValueTracer::Point {
  bool own = true;
  ReadRewriter* rewriter = nullptr;  // when not own
};

size_t ValueTracer::VisitHash::operator()(const Visit& visit) const noexcept {
  uint64_t hash = visit.node;
  for (const ExprId expression : visit.index) hash = hash_combine(hash, expression.index);
  return static_cast<size_t>(hash);
}

bool is_own_index(const KernelNodes& nodes, AccessValueId value, const std::vector<ExprId>& index) {
  const std::vector<AtomId>& atoms = nodes.atoms(value);
  for (size_t d = 0; d < atoms.size(); ++d) {
    if (!nodes.pool().is(index[d], atoms[d])) return false;
  }
  return true;
}

Trace ValueTracer::trace_value(AccessValueId value) {
  result_ = {};
  seen_.clear();
  Piece whole;
  whole.source = value;
  for (const AtomId atom : nodes_.atoms(value)) whole.index.push_back(nodes_.pool().of(atom));
  visit_value(AccessNodeId(), 0, whole, true);
  return std::move(result_);
}

Trace ValueTracer::trace_operands(AccessNodeId node) {
  result_ = {};
  seen_.clear();
  visit_operands(node, Point());
  return std::move(result_);
}

void ValueTracer::visit_operands(AccessNodeId id, const Point& point) {
  // Walking adds reads to the graph, but no nodes.
  const AccessNode& node = nodes_.graph().node(id);
  for (size_t i = 0; i < node.operands.size(); ++i) visit_read(id, i, node.operands[i], point);
  if (node.expression.valid()) visit_nested(id, node.expression, point);
  for (const Guard& guard : node.guards) visit_nested(id, guard.expr, point);
}

void ValueTracer::visit_read(AccessNodeId node, size_t operand, const Read& read,
                             const Point& point) {
  for (const Piece& piece : read.pieces) {
    for (const ExprId index : piece.index) visit_nested(node, index, point);
    for (const Guard& guard : piece.guards) visit_nested(node, guard.expr, point);
    if (point.own) {
      visit_value(node, operand, piece, true);
    } else {
      Piece moved = piece;
      point.rewriter->rewrite(moved);
      visit_value(node, operand, moved, false);
    }
  }
}

// Integers that are read inside of index expressions.
void ValueTracer::visit_nested(AccessNodeId node, ExprId expression, const Point& point) {
  if (!nodes_.pool().has_read(expression)) return;
  for (const ReadId read : nodes_.pool().reads_of(expression)) {
    const Read nested = nodes_.graph().reads[read.index];
    visit_read(node, TracedRead::kNested, nested, point);
  }
}

void ValueTracer::visit_value(AccessNodeId reader, size_t operand, const Piece& piece,
                              bool aligned) {
  const AccessNodeId producer = nodes_.producer(piece.source);
  const bool own = producer.valid() && is_own_index(nodes_, piece.source, piece.index);
  const bool is_placed = producer.valid() && is_placed_(piece.source, own);
  if (!producer.valid() || is_placed) {
    std::vector<TracedRead>& reads = is_placed ? result_.placed : result_.loads;
    reads.push_back({reader, operand, piece.source, piece.index, !piece.guards.empty(), aligned});
    return;
  }
  Visit visit = {producer.index, own ? std::vector<ExprId>() : piece.index};
  const size_t at = own ? 0 : VisitHash()(visit);
  if (!seen_.insert(std::move(visit)).second) return;
  Point point;
  std::optional<ReadRewriter> rewriter;
  if (!own) {
    IndexPool::AtomMap map;
    const std::vector<AtomId>& atoms = nodes_.atoms(piece.source);
    for (size_t d = 0; d < atoms.size(); ++d) map.emplace(atoms[d], piece.index[d]);
    rewriter.emplace(nodes_.graph(), std::move(map));
    point = {false, &*rewriter};
  }
  const double repeats = repeats_;
  for (const AtomId atom : nodes_.graph().node(producer).reduced) {
    repeats_ *= static_cast<double>(nodes_.pool().atom(atom).extent);
  }
  visit_operands(producer, point);
  repeats_ = repeats;
  result_.nodes.push_back({producer, own, repeats, at});
}

}  // namespace stitch
