// Of the walk over a group's accesses: index expressions, conditions and addresses.
#include <algorithm>

#include "planner/access/lane_access.h"
#include "planner/report/global_accesses.h"

namespace stitch {
namespace {

std::vector<uint32_t> key_of(const std::vector<ExprId>& index) {
  std::vector<uint32_t> key;
  for (const ExprId e : index) key.push_back(e.index);
  return key;
}

}  // namespace

ExprId AccessWalk::substituted(ExprId expr, const Binding& binding, uint32_t predicate) {
  return graph_.pool.substitute(expr, binding,
                                [&](ReadId read) { return gathered(read, binding, predicate); });
}

ExprId AccessWalk::gathered(ReadId read, const Binding& binding, uint32_t predicate) {
  IndexPool& pool = graph_.pool;
  const Range range = pool.read_range(read);
  const Read source = graph_.reads[read.index];  // a copy: reads may grow the graph
  visit_read(source, binding, predicate);
  std::vector<ExprId> from;
  for (const ExprId e : source.pieces.front().index) {
    from.push_back(substituted(e, binding, predicate));
  }
  std::vector<uint32_t> key = key_of(from);
  key.push_back(source.pieces.front().source.index);
  key.push_back(static_cast<uint32_t>(range.high - range.low));
  const auto [known, is_new] = gathered_.emplace(std::move(key), AtomId());
  if (is_new) {
    known->second = pool.add_atom(range.high - range.low + 1);
    GlobalAccess where;
    where.level = AccessLevel::kStage;
    for (const ExprId e : from) reach(where, e);
    levels_.emplace(known->second, where.level);
    if (where.lanes) moving_.insert(known->second);
    if (!where.loops.empty()) nests_.emplace(known->second, Nest{where.loops, where.level});
    result_.coordinates.gathered.push_back({known->second, std::move(from)});
  }
  return pool.add(pool.of(known->second), range.low);
}

// A guard that all lanes of a vector pass or fail together, asked of the first lane.
Guard AccessWalk::without_lane(const Guard& guard) {
  IndexPool& pool = graph_.pool;
  const GroupCoordinates& c = result_.coordinates;
  const int64_t shift = pool.expr(guard.expr).constant;
  const ExprId moving = pool.add(guard.expr, -shift);
  if (lane_access(pool, moving, c.lane, c.width) != LaneAccess::kContiguous) return guard;
  const Range range = pool.range(guard.expr);
  const bool low_fits = range.low >= guard.low || (guard.low - shift) % c.width == 0;
  const bool high_fits = range.high < guard.high || (guard.high - shift) % c.width == 0;
  if (!low_fits || !high_fits) return guard;
  return {pool.substitute(guard.expr, {{c.lane, pool.constant(0)}}), guard.low, guard.high};
}

bool AccessWalk::condition_of(const std::vector<Guard>& guards, const Binding& binding,
                              uint32_t predicate, uint32_t& condition) {
  condition = kCertain;
  std::vector<Guard> open;
  for (const Guard& guard : guards) {
    const Guard bound = {substituted(guard.expr, binding, predicate), guard.low, guard.high};
    const Range range = graph_.pool.range(bound.expr);
    if (range.low >= bound.low && range.high < bound.high) continue;
    if (range.high < bound.low || range.low >= bound.high) return false;
    open.push_back(without_lane(bound));
  }
  if (open.empty()) return true;
  const auto found = std::find(conditions_.begin(), conditions_.end(), open);
  condition = static_cast<uint32_t>(found - conditions_.begin());
  if (found == conditions_.end()) conditions_.push_back(std::move(open));
  return true;
}

uint32_t AccessWalk::conjunction(uint32_t predicate, uint32_t condition, bool negated) {
  if (condition == kCertain) return predicate;
  Predicate all = predicates_[predicate];
  all.emplace_back(condition, negated);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const auto found = std::find(predicates_.begin(), predicates_.end(), all);
  if (found != predicates_.end()) return static_cast<uint32_t>(found - predicates_.begin());
  predicates_.push_back(std::move(all));
  return static_cast<uint32_t>(predicates_.size() - 1);
}

// ---- addresses --------------------------------------------------------------------------------

ExprId AccessWalk::buffer_offset(BufferId buffer, const std::vector<ExprId>& index) {
  return graph_.pool.weighted_sum(index, plan_.buffers[buffer.index].strides);
}

ExprId AccessWalk::place_offset(const Place& place, AccessValueId value,
                                const std::vector<ExprId>& parts) {
  const std::vector<AtomId> own = atoms_of(value);
  std::vector<ExprId> index;
  for (const AtomId axis : place.axes) {
    const auto found = std::find(own.begin(), own.end(), axis);
    index.push_back(found == own.end() ? graph_.pool.constant(0)
                                       : parts[static_cast<size_t>(found - own.begin())]);
  }
  return graph_.pool.weighted_sum(index, place.strides);
}

}  // namespace stitch
