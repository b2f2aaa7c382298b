#include "emit_cuda/element_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit_cuda/cuda_types.h"
#include "emit_cuda/index_text.h"
#include "graph/error.h"
#include "planner/access/lane_access.h"
#include "planner/plan/step_distance.h"

namespace stitch {

ElementBuilder::ElementBuilder(KernelContext& context) : context_(context) {
  graph_.predicates.push_back({});
  graph_.add_scope(ScopeId());
  levels_.assign(5, outermost());
}

ExprId ElementBuilder::add_coordinate(int64_t extent, Coordinate coordinate) {
  const AtomId atom = context_.pool().add_atom(extent, coordinate.text);
  graph_.coordinates.emplace(atom, std::move(coordinate));
  return context_.pool().of(atom);
}

ExprId ElementBuilder::add_lane(int width, const std::string& text, ScopeId scope) {
  if (width == 1) return context_.pool().constant(0);
  const ExprId lane = add_coordinate(width, {text, 1, scope, true, ElementId()});
  graph_.lane = context_.pool().as_atom(lane);
  graph_.width = width;
  return lane;
}

// ---- where an element belongs -----------------------------------------------------------------

void ElementBuilder::reach(Element& element, ScopeId scope, bool lanes) {
  element.scope = element.scope.valid() ? graph_.deeper(element.scope, scope) : scope;
  element.lanes = element.lanes || lanes;
}

void ElementBuilder::reach(Element& element, ExprId expr) {
  for (const AtomId atom : context_.pool().atoms_of(expr)) {
    const auto found = graph_.coordinates.find(atom);
    if (found == graph_.coordinates.end()) {
      throw InternalError(fmt::format(
          "kernel {}: no loop binds atom {} \"{}\" of extent {}", context_.kernel().name,
          atom.index, context_.pool().atom(atom).name, context_.pool().atom(atom).extent));
    }
    const Coordinate& c = found->second;
    if (c.gathered.valid()) {
      reach(element, graph_.at(c.gathered).scope, graph_.at(c.gathered).lanes);
      element.others.push_back(c.gathered);
      ++graph_.at(c.gathered).uses;
    } else {
      reach(element, c.scope, c.lane);
    }
  }
}

void ElementBuilder::reach(Element& element, PredicateId predicate) {
  for (const auto& [condition, negated] : graph_.at(predicate)) {
    reach(element, graph_.at(condition).scope, graph_.at(condition).lanes);
    element.others.push_back(condition);
    ++graph_.at(condition).uses;
  }
}

ElementBuilder::Position ElementBuilder::position(ExprId expr) const {
  Position result = {outermost(), false};
  for (const AtomId atom : context_.pool().atoms_of(expr)) {
    const auto found = graph_.coordinates.find(atom);
    if (found == graph_.coordinates.end()) continue;
    const Coordinate& c = found->second;
    const ScopeId scope = c.gathered.valid() ? graph_.at(c.gathered).scope : c.scope;
    result.scope = graph_.deeper(result.scope, scope);
    result.lanes = result.lanes || (c.gathered.valid() ? graph_.at(c.gathered).lanes : c.lane);
  }
  return result;
}

ElementId ElementBuilder::add(Element element) {
  for (const ElementId id : element.operands) {
    reach(element, graph_.at(id).scope, graph_.at(id).lanes);
    ++graph_.at(id).uses;
  }
  for (const ElementId id : element.conditions) {
    reach(element, graph_.at(id).scope, graph_.at(id).lanes);
    ++graph_.at(id).uses;
  }
  if (!element.scope.valid()) element.scope = outermost();
  graph_.elements.push_back(std::move(element));
  return ElementId(graph_.elements.size() - 1);
}

void ElementBuilder::add_sink(Sink sink) {
  for (const ElementId id : sink.inputs) ++graph_.at(id).uses;
  for (const ElementId id : sink.others) ++graph_.at(id).uses;
  graph_.sinks.push_back(std::move(sink));
}

void ElementBuilder::refer(Sink& sink, ExprId expr) {
  Element element;
  reach(element, expr);
  sink.others.insert(sink.others.end(), element.others.begin(), element.others.end());
  if (element.scope.valid()) sink.scope = graph_.deeper(sink.scope, element.scope);
}

// ---- conditions -------------------------------------------------------------------------------

bool ElementBuilder::binds(ExprId expr, const Binding& binding) const {
  for (const AtomId atom : context_.pool().atoms_of(expr)) {
    if (!binding.contains(atom) && context_.pool().atom(atom).extent > 1) return false;
  }
  return true;
}

// A guard that all lanes of an aligned vector pass or fail together, asked of the first lane.
Guard ElementBuilder::without_lane(const Guard& guard) {
  IndexPool& pool = context_.pool();
  const int64_t shift = pool.expr(guard.expr).constant;
  const ExprId moving = pool.add(guard.expr, -shift);
  const int64_t width = graph_.width;
  if (lane_access(pool, moving, graph_.lane, width) != LaneAccess::kContiguous) return guard;
  const Range range = pool.range(guard.expr);
  const bool low_fits = range.low >= guard.low || (guard.low - shift) % width == 0;
  const bool high_fits = range.high < guard.high || (guard.high - shift) % width == 0;
  if (!low_fits || !high_fits) return guard;
  return {pool.substitute(guard.expr, {{graph_.lane, pool.constant(0)}}), guard.low, guard.high};
}

ElementId ElementBuilder::condition(std::vector<Guard> guards) {
  std::vector<int64_t> key;
  for (const Guard& guard : guards) {
    key.insert(key.end(), {guard.expr.index, guard.low, guard.high});
  }
  if (const auto found = conditions_.find(key); found != conditions_.end()) return found->second;
  Element element;
  element.kind = ElementKind::kCondition;
  element.dtype = DType::kBool;
  for (const Guard& guard : guards) reach(element, guard.expr);
  element.guards = std::move(guards);
  const ElementId id = add(std::move(element));
  conditions_.emplace(std::move(key), id);
  return id;
}

PredicateId ElementBuilder::conjunction(PredicateId predicate, ElementId condition, bool negated) {
  Predicate all = graph_.at(predicate);
  all.emplace_back(condition, negated);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  for (size_t i = 0; i < graph_.predicates.size(); ++i) {
    if (graph_.predicates[i] == all) return PredicateId(i);
  }
  graph_.predicates.push_back(std::move(all));
  return PredicateId(graph_.predicates.size() - 1);
}

ElementBuilder::Guarded ElementBuilder::guarded(std::span<const Guard> guards,
                                                const Binding& binding, PredicateId predicate) {
  Guarded result = {true, predicate, ElementId()};
  std::vector<Guard> open;
  for (const Guard& guard : guards) {
    Guard bound = {substituted(guard.expr, binding, predicate), guard.low, guard.high};
    const Range range = context_.pool().range(bound.expr);
    if (range.low >= bound.low && range.high < bound.high) continue;
    if (range.high < bound.low || range.low >= bound.high) {
      result.possible = false;
      return result;
    }
    open.push_back(without_lane(bound));
  }
  if (open.empty()) return result;
  result.condition = condition(std::move(open));
  result.predicate = conjunction(predicate, result.condition, false);
  return result;
}

// ---- index expressions ------------------------------------------------------------------------

ExprId ElementBuilder::substituted(ExprId expr, const Binding& binding, PredicateId predicate) {
  return context_.pool().substitute(
      expr, binding, [&](ReadId read) { return gathered(read, binding, predicate); });
}

ExprId ElementBuilder::gathered(ReadId read, const Binding& binding, PredicateId predicate) {
  IndexPool& pool = context_.pool();
  const Range range = pool.read_range(read);
  const Read source = context_.graph().reads[read.index];
  const ElementId held = read_at(source, binding, predicate);
  Element element;
  element.kind = ElementKind::kGathered;
  element.dtype = DType::kI32;
  element.range = range;
  element.operands = {held};
  element.value = graph_.at(held).value;
  const auto known = gathered_atoms_.find(held.index);
  if (known != gathered_atoms_.end() &&
      pool.atom(known->second).extent == range.high - range.low + 1) {
    return pool.add(pool.of(known->second), range.low);
  }
  const ElementId id = add(std::move(element));
  const AtomId atom = pool.add_atom(range.high - range.low + 1, "gathered");
  graph_.coordinates.emplace(atom, Coordinate{"", 1, graph_.at(id).scope, graph_.at(id).lanes, id});
  gathered_atoms_.emplace(held.index, atom);
  return pool.add(pool.of(atom), range.low);
}

ElementId ElementBuilder::index_element(ExprId expr, DType dtype) {
  int64_t value = 0;
  Element element;
  element.dtype = dtype;
  if (context_.pool().is_constant(expr, &value)) {
    element.kind = ElementKind::kLiteral;
    element.text = is_float(dtype) ? real_literal(dtype, static_cast<double>(value))
                                   : integer_literal(dtype, value);
    return add(std::move(element));
  }
  element.kind = ElementKind::kIndex;
  element.expr = expr;
  reach(element, expr);
  return add(std::move(element));
}

// ---- values -----------------------------------------------------------------------------------

std::vector<AtomId> ElementBuilder::atoms_of(AccessValueId value) const {
  std::vector<AtomId> atoms;
  for (const auto& dim : context_.graph().value(value).dims) {
    atoms.insert(atoms.end(), dim.begin(), dim.end());
  }
  return atoms;
}

ElementId ElementBuilder::value_at(AccessValueId value, const Binding& binding,
                                   PredicateId predicate) {
  IndexPool& pool = context_.pool();
  std::vector<ExprId> index;
  for (const auto& dim : context_.graph().value(value).dims) {
    std::vector<ExprId> parts;
    std::vector<int64_t> extents;
    for (const AtomId atom : dim) {
      const auto found = binding.find(atom);
      if (found == binding.end() && pool.atom(atom).extent > 1) {
        throw InternalError(fmt::format(
            "kernel {}: value {} \"{}\" has atom {} \"{}\" (extent {}), which no loop binds",
            context_.kernel().name, value.index, context_.graph().value(value).name, atom.index,
            pool.atom(atom).name, pool.atom(atom).extent));
      }
      parts.push_back(found == binding.end() ? pool.constant(0) : found->second);
      extents.push_back(pool.atom(atom).extent);
    }
    index.push_back(parts.empty() ? pool.constant(0) : pool.linearise(parts, extents));
  }
  return element_at(value, index, predicate);
}

ElementId ElementBuilder::element_at(AccessValueId value, const std::vector<ExprId>& index,
                                     PredicateId predicate) {
  AccessGraph& access = context_.graph();
  if (access.value(value).kind == AccessValueKind::kConstant) {
    const ElementId literal = constant(value);
    if (literal.valid()) return literal;
  }
  Key key = {value, {}};
  for (const ExprId e : index) key.second.push_back(e.index);
  key.second.push_back(0);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  key.second.back() = predicate.index;
  if (const auto found = known_.find(key); found != known_.end()) return found->second;

  ElementId result;
  if (access.value(value).kind == AccessValueKind::kNode && context_.computes(value)) {
    std::vector<ExprId> parts;
    Binding binding;
    const AccessNodeId producer = access.value(value).producer;
    const size_t rank = access.value(value).dims.size();
    for (size_t d = 0; d < rank; ++d) {
      const std::vector<AtomId> dim = access.value(value).dims[d];
      std::vector<int64_t> extents;
      for (const AtomId atom : dim) extents.push_back(context_.pool().atom(atom).extent);
      const std::vector<ExprId> split = context_.pool().delinearise(index[d], extents);
      for (size_t a = 0; a < dim.size(); ++a) {
        binding[dim[a]] = split[a];
        parts.push_back(split[a]);
      }
    }
    result = placed(value, parts, predicate);
    if (!result.valid()) result = node_at(producer, value, binding, predicate);
  } else {
    const BufferId buffer = context_.buffer_of(value);
    const ExprId offset = context_.offset(buffer, index);
    result = load(context_.read(buffer), offset, access.value(value).dtype, value, predicate);
  }
  known_.emplace(std::move(key), result);
  return result;
}

ElementId ElementBuilder::constant(AccessValueId value) {
  const Tensor* tensor = context_.graph().constant(value);
  if (tensor == nullptr || tensor->element_count() != 1) return ElementId();
  Element element;
  element.kind = ElementKind::kLiteral;
  element.dtype = tensor->dtype();
  element.text = literal(*tensor, 0);
  return add(std::move(element));
}

ExprId ElementBuilder::place_offset(const Place& place, AccessValueId value,
                                    const std::vector<ExprId>& atoms) {
  IndexPool& pool = context_.pool();
  const std::vector<AtomId> own = atoms_of(value);
  std::vector<ExprId> index;
  for (const AtomId axis : place.axes) {
    const auto found = std::find(own.begin(), own.end(), axis);
    if (found == own.end()) {
      if (pool.atom(axis).extent == 1) {
        index.push_back(pool.constant(0));
        continue;
      }
      throw InternalError(fmt::format("kernel {}: the place of value {} has an axis that it lacks",
                                      context_.kernel().name, value.index));
    }
    index.push_back(atoms[static_cast<size_t>(found - own.begin())]);
  }
  ExprId offset = pool.weighted_sum(index, place.strides);
  if (place.kind != PlaceKind::kScratch && place.row_stride != 0 && row_in_block_.valid()) {
    offset = pool.add(offset, pool.scale(row_in_block_, place.row_stride));
  }
  return offset;
}

ElementId ElementBuilder::placed(AccessValueId value, const std::vector<ExprId>& atoms,
                                 PredicateId predicate) {
  const auto kept = context_.registers().find(value);
  if (kept != context_.registers().end()) {
    const std::vector<AtomId> dims = atoms_of(value);
    std::vector<ExprId> own;
    for (const AtomId atom : dims) {
      const auto bound = own_.find(atom);
      own.push_back(bound == own_.end() ? context_.pool().constant(0) : bound->second);
    }
    const std::optional<int64_t> steps =
        step_distance(context_.pool(), *columns_, dims, own, atoms);
    if (steps && (*steps == 0 || kept->second.steps > 0)) {
      Element element;
      element.kind = ElementKind::kRegister;
      element.dtype = context_.graph().value(value).dtype;
      element.value = value;
      element.text = kept->second.at(*steps);
      element.scope = levels_[static_cast<size_t>(kept->second.level)];
      element.lanes = kept->second.lanes && graph_.width > 1;
      return add(std::move(element));
    }
  }
  if (!context_.stored().contains(value)) return ElementId();
  for (const PlaceKind kind : {PlaceKind::kShared, PlaceKind::kCluster, PlaceKind::kScratch}) {
    const Place* place = context_.place(value, kind);
    if (place == nullptr) continue;
    const Memory memory =
        kind == PlaceKind::kScratch ? context_.read(place->buffer) : context_.shared(value, *place);
    return load(memory, place_offset(*place, value, atoms), context_.graph().value(value).dtype,
                value, predicate);
  }
  return ElementId();
}

ElementId ElementBuilder::load(const Memory& memory, ExprId offset, DType dtype,
                               AccessValueId value, PredicateId predicate) {
  IndexPool& pool = context_.pool();
  Element element;
  element.kind = ElementKind::kLoad;
  element.dtype = dtype;
  element.value = value;
  element.memory = memory;
  element.predicate = predicate;
  element.expr = offset;
  reach(element, predicate);
  const bool lane_predicate = element.lanes;
  if (!lane_predicate && memory.aligned &&
      lane_access(pool, offset, graph_.lane, graph_.width) == LaneAccess::kContiguous) {
    element.vector = true;
    element.lanes = true;
    element.expr = pool.substitute(offset, {{graph_.lane, pool.constant(0)}});
    reach(element, graph_.coordinates.at(graph_.lane).scope, true);
  }
  reach(element, element.expr);
  return add(std::move(element));
}

ElementId ElementBuilder::read_at(const Read& read, const Binding& binding, PredicateId predicate) {
  std::vector<ElementId> conditions, alternatives;
  PredicateId rest = predicate;
  for (const Piece& piece : read.pieces) {
    const Guarded here = guarded(piece.guards, binding, rest);
    if (!here.possible) continue;
    std::vector<ExprId> index;
    for (const ExprId e : piece.index) {
      index.push_back(substituted(e, binding, here.predicate));
    }
    alternatives.push_back(element_at(piece.source, index, here.predicate));
    if (!here.condition.valid()) break;
    conditions.push_back(here.condition);
    rest = conjunction(rest, here.condition, true);
  }
  if (alternatives.empty()) throw InternalError("a read has no piece that can be read");
  if (alternatives.size() == conditions.size()) conditions.pop_back();  // the last one is certain
  if (conditions.empty()) return alternatives.front();
  Element element;
  element.kind = ElementKind::kChoice;
  element.dtype = graph_.at(alternatives.front()).dtype;
  element.value = graph_.at(alternatives.front()).value;
  element.operands = std::move(alternatives);
  element.conditions = std::move(conditions);
  element.predicate = predicate;
  return add(std::move(element));
}

}  // namespace stitch
