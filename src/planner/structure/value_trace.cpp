#include "planner/structure/value_trace.h"

#include <optional>
#include <utility>

#include "graph/hash.h"

namespace stitch {

size_t ValueTracer::PointHash::operator()(const PointKey& key) const noexcept {
  return static_cast<size_t>(hash_combine(key.node, reinterpret_cast<uintptr_t>(key.index)));
}

bool is_own_index(const KernelNodes& nodes, AccessValueId value, std::span<const ExprId> index) {
  const std::vector<AtomId>& atoms = nodes.atoms(value);
  for (size_t d = 0; d < atoms.size(); ++d) {
    if (!nodes.pool().is(index[d], atoms[d])) return false;
  }
  return true;
}

void ValueTracer::forget() {
  points_.clear();
  point_ids_.clear();
}

void ValueTracer::begin() {
  result_ = {};
  ++walk_;
}

Trace ValueTracer::trace_value(AccessValueId value) {
  begin();
  Piece whole;
  whole.source = value;
  whole.index = own_index(nodes_.graph(), value);
  Step step = step_to(whole);
  step.read.aligned = true;
  walk(step);
  return std::move(result_);
}

Trace ValueTracer::trace_operands(AccessNodeId node) {
  begin();
  walk_steps(points_[point_of(node, {}, true)]);
  return std::move(result_);
}

ValueTracer::PointId ValueTracer::point_of(AccessNodeId node, std::span<const ExprId> index,
                                           bool own) {
  const PointKey key = {node.index, own ? nullptr : index.data()};
  const auto [found, is_new] = point_ids_.emplace(key, static_cast<PointId>(points_.size()));
  if (is_new) {
    Point& point = points_.emplace_back();
    point.node = node;
    if (!own) {
      point.index = index;
      point.at = node.index;
      for (const ExprId expression : index) point.at = hash_combine(point.at, expression.index);
    }
  }
  return found->second;
}

// Steps in the order in which the emitter evaluates them.
void ValueTracer::expand(Point& point) {
  point.expanded = true;
  // Walking adds reads to the graph, but no nodes.
  const AccessNode& node = nodes_.graph().node(point.node);
  std::optional<ReadRewriter> rewriter;
  if (!point.own()) {
    IndexPool::AtomMap map;
    const std::vector<AtomId>& atoms = nodes_.atoms(node.results.front());
    for (size_t d = 0; d < atoms.size(); ++d) map.emplace(atoms[d], point.index[d]);
    rewriter.emplace(nodes_.graph(), std::move(map));
  }
  ReadRewriter* const moved = rewriter ? &*rewriter : nullptr;
  for (size_t i = 0; i < node.operands.size(); ++i) add_read(point, moved, i, node.operands[i]);
  if (node.expression.valid()) add_nested(point, moved, node.expression);
  for (const Guard& guard : node.guards) add_nested(point, moved, guard.expr);
}

void ValueTracer::add_read(Point& point, ReadRewriter* moved, size_t operand, const Read& read) {
  for (const Piece& piece : read.pieces) {
    for (const ExprId index : piece.index) add_nested(point, moved, index);
    for (const Guard& guard : piece.guards) add_nested(point, moved, guard.expr);
    Piece at = piece;
    if (moved != nullptr) moved->rewrite(at);
    Step step = step_to(at);
    step.read.reader = point.node;
    step.read.operand = operand;
    step.read.aligned = point.own();
    point.steps.push_back(step);
  }
}

// Integers that are read inside of index expressions.
void ValueTracer::add_nested(Point& point, ReadRewriter* moved, ExprId expression) {
  if (!nodes_.pool().has_read(expression)) return;
  for (const ReadId read : nodes_.pool().reads_of(expression)) {
    const Read nested = nodes_.graph().reads[read.index];
    add_read(point, moved, TracedRead::kNested, nested);
  }
}

ValueTracer::Step ValueTracer::step_to(const Piece& piece) {
  Step step;
  step.read.value = piece.source;
  step.read.index = nodes_.pool().list(piece.index);
  step.read.guarded = !piece.guards.empty();
  const AccessNodeId producer = nodes_.producer(piece.source);
  if (producer.valid()) {
    step.own = is_own_index(nodes_, piece.source, piece.index);
    step.point = point_of(producer, step.read.index, step.own);
  } else {
    step.read.address = address_of(nodes_.graph(), piece.source, step.read.index);
  }
  return step;
}

void ValueTracer::walk(const Step& step) {
  const bool computed = step.point != kNoPoint;
  const bool is_placed = computed && is_placed_(step.read.value, step.own);
  if (!computed || is_placed) {
    (is_placed ? result_.placed : result_.loads).push_back(step.read);
    return;
  }
  Point& point = points_[step.point];
  if (point.walk == walk_) return;
  point.walk = walk_;
  const double repeats = repeats_;
  for (const AtomId atom : nodes_.graph().node(point.node).reduced) {
    repeats_ *= static_cast<double>(nodes_.pool().atom(atom).extent);
  }
  walk_steps(point);
  repeats_ = repeats;
  result_.nodes.push_back({point.node, point.own(), repeats, point.at});
}

void ValueTracer::walk_steps(Point& point) {
  if (!point.expanded) expand(point);
  for (const Step& step : point.steps) walk(step);
}

}  // namespace stitch
