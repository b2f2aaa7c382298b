#include "planner/report/global_accesses.h"

#include <algorithm>

#include "graph/error.h"
#include "planner/access/lane_access.h"
#include "planner/plan/step_distance.h"

namespace stitch {
namespace {

constexpr int64_t kVectorBytes = 16;
constexpr uint32_t kAlways = 0;     // the predicate without conditions
constexpr uint32_t kCertain = ~0u;  // the condition that holds

std::vector<int64_t> extents_of(const IndexPool& pool, const std::vector<AtomId>& atoms) {
  std::vector<int64_t> extents;
  for (const AtomId atom : atoms) extents.push_back(pool.atom(atom).extent);
  return extents;
}

int64_t product(const std::vector<int64_t>& extents) {
  int64_t count = 1;
  for (const int64_t extent : extents) count *= extent;
  return count;
}

bool is_literal(const AccessGraph& graph, AccessValueId value) {
  const Tensor* const tensor = graph.constant(value);
  return tensor != nullptr && tensor->element_count() == 1;
}

std::vector<uint32_t> key_of(const std::vector<ExprId>& index) {
  std::vector<uint32_t> key;
  for (const ExprId e : index) key.push_back(e.index);
  return key;
}

}  // namespace

AccessWalk::AccessWalk(AccessGraph& graph, const Plan& plan, const Kernel& kernel,
                       const BufferOfValueMap& buffers)
    : graph_(graph), plan_(plan), kernel_(kernel), buffers_(buffers) {
  for (const Part& part : kernel.parts) {
    for (const Stage& stage : part.stages) {
      for (const Group& group : stage.groups) {
        for (const AccessNodeId node : group.nodes) {
          const std::vector<AccessValueId>& results = graph.node(node).results;
          computed_.insert(results.begin(), results.end());
        }
        for (const Root& root : group.roots) {
          const bool is_node = graph.value(root.value).kind == AccessValueKind::kNode;
          if (is_node && root.kind != RootKind::kStore) computed_.insert(root.value);
        }
      }
    }
  }
}

GroupAccesses AccessWalk::group(const Stage& stage, const Group& group) {
  if (goes_on(stage, group)) {
    result_.accesses.clear();
    bind_columns(group.mapping);
  } else {
    result_ = {};
    binding_.clear();
    levels_.clear();
    moving_.clear();
    nests_.clear();
    conditions_.clear();
    predicates_ = {{}};
    seen_.clear();
    gathered_.clear();
    bind(stage, group);
  }
  before_ = &group;
  reduced_.clear();
  for (const Root& root : group.roots) {
    if (root.kind == RootKind::kReduce) reduced_.insert(root.value);
  }
  for (const Root& root : group.roots) add_root(root);
  add_results(group);
  return result_;
}

// Whether the compiler sees the group and the one before it as one piece of code: the same points,
// one step, and no exchange between threads in between. It loads an element once then.
bool AccessWalk::goes_on(const Stage& stage, const Group& group) const {
  if (before_ == nullptr || group.block_barrier || before_->guards != group.guards) return false;
  const GroupMapping &a = before_->mapping, &b = group.mapping;
  const int64_t columns = product(extents_of(graph_.pool, b.columns));
  const bool same = a.inner_rows.empty() && b.inner_rows.empty() && a.threads == b.threads &&
                    a.vector == b.vector && a.columns.empty() == b.columns.empty() &&
                    columns == product(extents_of(graph_.pool, a.columns));
  const bool one_step = columns <= static_cast<int64_t>(b.threads) * b.vector &&
                        (stage.mapping.lanes_along_rows || stage.mapping.rows_per_thread == 1);
  const bool exchanges = std::any_of(
      before_->roots.begin(), before_->roots.end(),
      [&](const Root& root) { return root.kind == RootKind::kReduce && a.threads > 1; });
  return same && one_step && !exchanges;
}

// ---- coordinates ------------------------------------------------------------------------------

void AccessWalk::bind(const Stage& stage, const Group& group) {
  IndexPool& pool = graph_.pool;
  GroupCoordinates& c = result_.coordinates;
  const StageMapping& m = stage.mapping;
  columns_ = &group.mapping;
  c.lanes_along_rows = m.lanes_along_rows;
  if (!m.block_axes.empty()) {
    c.outer = coordinate(m.grid_y, AccessLevel::kStage);
    take_apart(pool.of(c.outer), m.block_axes);
  }
  if (!m.rows.empty()) {
    const int width = m.lanes_along_rows ? m.rows_per_thread : 1;
    c.row = coordinate(product(extents_of(pool, m.rows)) / width, AccessLevel::kRow);
    take_apart(with_lane(pool.of(c.row), width, AccessLevel::kRow), m.rows);
  }
  const GroupMapping& g = group.mapping;
  if (!g.inner_rows.empty()) {
    c.inner = coordinate(product(extents_of(pool, g.inner_rows)), AccessLevel::kInnerRow);
    take_apart(pool.of(c.inner), g.inner_rows);
  }
  bind_columns(g);
  for (const std::vector<Guard>* guards : {&stage.guards, &group.guards}) {
    for (const Guard& guard : *guards) {
      const std::vector<AtomId> atoms = pool.atoms_of(guard.expr);
      const bool bound = std::all_of(atoms.begin(), atoms.end(), [&](AtomId atom) {
        return binding_.contains(atom) || pool.atom(atom).extent == 1;
      });
      if (!bound) continue;
      result_.guards.push_back({substituted(guard.expr, binding_, kAlways), guard.low, guard.high});
    }
  }
}

// A group that goes on has atoms of its own for the same coordinates.
void AccessWalk::bind_columns(const GroupMapping& group) {
  if (group.columns.empty()) return;
  IndexPool& pool = graph_.pool;
  GroupCoordinates& c = result_.coordinates;
  if (!c.column.valid()) {
    const int64_t columns = product(extents_of(pool, group.columns));
    c.column = coordinate(columns / group.vector, AccessLevel::kStep);
  }
  take_apart(with_lane(pool.of(c.column), group.vector, AccessLevel::kStep), group.columns);
}

AtomId AccessWalk::coordinate(int64_t extent, AccessLevel level) {
  const AtomId atom = graph_.pool.add_atom(extent);
  levels_.emplace(atom, level);
  return atom;
}

ExprId AccessWalk::with_lane(ExprId vectors, int width, AccessLevel level) {
  GroupCoordinates& c = result_.coordinates;
  if (width == 1) return vectors;
  if (!c.lane.valid()) {
    c.lane = coordinate(width, level);
    c.width = width;
    moving_.insert(c.lane);
  }
  return graph_.pool.add(graph_.pool.scale(vectors, width), graph_.pool.of(c.lane));
}

void AccessWalk::take_apart(ExprId linear, const std::vector<AtomId>& atoms) {
  const std::vector<ExprId> parts = graph_.pool.delinearise(linear, extents_of(graph_.pool, atoms));
  for (size_t a = 0; a < atoms.size(); ++a) binding_[atoms[a]] = parts[a];
}

// Where an expression belongs in the loops, and whether it moves along the lanes.
void AccessWalk::reach(GlobalAccess& access, ExprId expr) {
  for (const AtomId atom : graph_.pool.atoms_of(expr)) {
    if (const auto level = levels_.find(atom); level != levels_.end()) {
      access.level = std::max(access.level, level->second);
    }
    if (const auto nest = nests_.find(atom); nest != nests_.end()) {
      access.level = std::max(access.level, nest->second.level);
      access.loops.insert(access.loops.end(), nest->second.atoms.begin(), nest->second.atoms.end());
    }
    if (moving_.contains(atom)) access.lanes = true;
  }
  std::sort(access.loops.begin(), access.loops.end());
  access.loops.erase(std::unique(access.loops.begin(), access.loops.end()), access.loops.end());
}

GlobalAccess& AccessWalk::add(BufferId id, ExprId offset, uint32_t predicate) {
  const Buffer& buffer = plan_.buffers[id.index];
  GlobalAccess access;
  access.offset = offset;
  access.element_bytes = size_bytes(buffer.dtype);
  access.base = buffer.offset;
  access.level = AccessLevel::kStage;
  for (const auto& [condition, negated] : predicates_[predicate]) {
    access.conditions.push_back({conditions_[condition], negated});
    for (const Guard& guard : conditions_[condition]) reach(access, guard.expr);
  }
  const GroupCoordinates& c = result_.coordinates;
  const bool asked_per_lane = access.lanes;
  access.vector = !asked_per_lane && buffer.offset % kVectorBytes == 0 &&
                  lane_access(graph_.pool, offset, c.lane, c.width) == LaneAccess::kContiguous;
  reach(access, offset);
  result_.accesses.push_back(std::move(access));
  return result_.accesses.back();
}

// ---- roots ------------------------------------------------------------------------------------

void AccessWalk::add_root(const Root& root) {
  const AccessNodeId producer = graph_.value(root.value).producer;
  switch (root.kind) {
    case RootKind::kReduce:
    case RootKind::kReduceRows: {
      const AccessNode node = graph_.node(producer);  // a copy: reads may grow the graph
      uint32_t condition = kCertain;
      if (!condition_of(node.guards, binding_, kAlways, condition)) return;
      const uint32_t exists = conjunction(kAlways, condition, false);
      const size_t operands = node.kind == AccessKind::kContraction ? 2 : 1;
      const bool follows = root.cascade.rule != CascadeRule::kNone;
      if (follows) kept_.insert(root.cascade.center);  // the running one
      for (size_t i = 0; i < operands; ++i) visit_read(node.operands[i], binding_, exists);
      if (follows) kept_.erase(root.cascade.center);
      break;
    }
    case RootKind::kPlace: {
      visit_own(root.value, kAlways);
      if (const Place* const scratch = place(root.value, PlaceKind::kScratch)) {
        add_store(scratch->buffer, place_offset(*scratch, root.value, own_parts(root.value)));
      }
      break;
    }
    case RootKind::kStore: {
      const bool is_result = reduced_.contains(root.value);
      const size_t first = result_.accesses.size();
      if (!is_result) visit_own(root.value, kAlways);
      // What only the first thread of a row stores, the compiler lets it alone load, outside of
      // loops.
      if (!result_.coordinates.column.valid()) {
        for (size_t a = first; a < result_.accesses.size(); ++a) {
          if (result_.accesses[a].loops.empty()) result_.accesses[a].level = AccessLevel::kStep;
        }
      }
      std::vector<ExprId> index;
      for (const ExprId e : root.index) index.push_back(substituted(e, binding_, kAlways));
      add_store(root.buffer, buffer_offset(root.buffer, index));
      if (is_result) result_.accesses.back().result = true;
      break;
    }
    case RootKind::kContract:
      throw InternalError("a contraction has no accesses of a group");
  }
}

void AccessWalk::add_store(BufferId buffer, ExprId offset) {
  GlobalAccess& access = add(buffer, offset, kAlways);
  access.level = AccessLevel::kStep;
  access.store = true;
}

// What follows the loops over columns: results of reduces, and what the group keeps from now on.
void AccessWalk::add_results(const Group& group) {
  for (const Root& root : group.roots) {
    if (root.kind == RootKind::kStore) continue;
    const Place* const scratch = place(root.value, PlaceKind::kScratch);
    const bool reduces = root.kind == RootKind::kReduce || root.kind == RootKind::kReduceRows;
    if (reduces && scratch != nullptr) {
      add_store(scratch->buffer, place_offset(*scratch, root.value, own_parts(root.value)));
      GlobalAccess& access = result_.accesses.back();
      access.result = root.kind == RootKind::kReduce;
      access.row_sums = root.kind == RootKind::kReduceRows;
    }
    const bool in_registers = root.kind == RootKind::kReduce
                                  ? group.mapping.inner_rows.empty()
                                  : place(root.value, PlaceKind::kRegister) != nullptr ||
                                        place(root.value, PlaceKind::kRegisterArray) != nullptr;
    if (in_registers) kept_.insert(root.value);
    if (scratch != nullptr || place(root.value, PlaceKind::kShared) != nullptr ||
        place(root.value, PlaceKind::kCluster) != nullptr) {
      stored_.insert(root.value);
    }
  }
}

const Place* AccessWalk::place(AccessValueId value, PlaceKind kind) const {
  const auto found = kernel_.places.find(value);
  if (found == kernel_.places.end()) return nullptr;
  for (const Place& place : found->second) {
    if (place.kind == kind) return &place;
  }
  return nullptr;
}

// ---- values -----------------------------------------------------------------------------------

std::vector<AtomId> AccessWalk::atoms_of(AccessValueId value) const {
  std::vector<AtomId> atoms;
  for (const std::vector<AtomId>& dim : graph_.value(value).dims) {
    atoms.insert(atoms.end(), dim.begin(), dim.end());
  }
  return atoms;
}

std::vector<ExprId> AccessWalk::own_parts(AccessValueId value) const {
  std::vector<ExprId> parts;
  for (const AtomId atom : atoms_of(value)) {
    const auto bound = binding_.find(atom);
    parts.push_back(bound == binding_.end() ? graph_.pool.constant(0) : bound->second);
  }
  return parts;
}

void AccessWalk::visit_own(AccessValueId value, uint32_t predicate) {
  IndexPool& pool = graph_.pool;
  std::vector<ExprId> index;
  const std::vector<std::vector<AtomId>> dims = graph_.value(value).dims;
  for (const std::vector<AtomId>& dim : dims) {
    std::vector<ExprId> parts;
    for (const AtomId atom : dim) {
      const auto bound = binding_.find(atom);
      parts.push_back(bound == binding_.end() ? pool.constant(0) : bound->second);
    }
    index.push_back(parts.empty() ? pool.constant(0)
                                  : pool.linearise(parts, extents_of(pool, dim)));
  }
  visit_element(value, index, predicate);
}

void AccessWalk::visit_element(AccessValueId value, const std::vector<ExprId>& index,
                               uint32_t predicate) {
  if (is_literal(graph_, value)) return;
  std::vector<uint32_t> key = key_of(index);
  key.push_back(kAlways);
  if (seen_.contains({value, key})) return;
  key.back() = predicate;
  if (!seen_.emplace(std::pair(value, key), true).second) return;
  if (!computed_.contains(value)) {
    const auto buffer = buffers_.find(value);
    if (buffer == buffers_.end()) throw InternalError("a value that is read has no buffer");
    add(buffer->second, buffer_offset(buffer->second, index), predicate);
    return;
  }
  IndexPool& pool = graph_.pool;
  Binding binding;
  std::vector<ExprId> parts;
  const std::vector<std::vector<AtomId>> dims = graph_.value(value).dims;
  for (size_t d = 0; d < dims.size(); ++d) {
    const std::vector<ExprId> split = pool.delinearise(index[d], extents_of(pool, dims[d]));
    for (size_t a = 0; a < dims[d].size(); ++a) {
      binding[dims[d][a]] = split[a];
      parts.push_back(split[a]);
    }
  }
  if (is_kept(value, parts) || load_placed(value, parts, predicate)) return;
  visit_node(graph_.value(value).producer, binding, predicate);
}

bool AccessWalk::is_kept(AccessValueId value, const std::vector<ExprId>& parts) {
  if (!kept_.contains(value)) return false;
  return step_distance(graph_.pool, *columns_, atoms_of(value), own_parts(value), parts)
      .has_value();
}

bool AccessWalk::load_placed(AccessValueId value, const std::vector<ExprId>& parts,
                             uint32_t predicate) {
  if (!stored_.contains(value)) return false;
  if (place(value, PlaceKind::kShared) != nullptr) return true;
  if (place(value, PlaceKind::kCluster) != nullptr) return true;
  const Place* const scratch = place(value, PlaceKind::kScratch);
  if (scratch == nullptr) return false;
  add(scratch->buffer, place_offset(*scratch, value, parts), predicate);
  return true;
}

void AccessWalk::visit_node(AccessNodeId id, const Binding& binding, uint32_t predicate) {
  const AccessNode node = graph_.node(id);  // a copy: reads may grow the graph
  switch (node.kind) {
    case AccessKind::kElementwise:
      for (const Read& read : node.operands) visit_read(read, binding, predicate);
      return;
    case AccessKind::kIndex:
      substituted(node.expression, binding, predicate);
      return;
    case AccessKind::kReduce:
    case AccessKind::kArgReduce:
    case AccessKind::kContraction:
    case AccessKind::kScan:
      visit_reduction(id, binding, predicate);
      return;
    case AccessKind::kSort:
    case AccessKind::kScatter:
    case AccessKind::kAssembly:
      return;
  }
}

// A loop of one thread.
void AccessWalk::visit_reduction(AccessNodeId id, const Binding& outer, uint32_t predicate) {
  const AccessNode node = graph_.node(id);
  GlobalAccess around;
  around.level = AccessLevel::kRow;
  for (const AtomId atom : node.axes) {
    if (const auto bound = outer.find(atom); bound != outer.end()) reach(around, bound->second);
  }
  Nest nest = {around.loops, around.level};
  Binding inner = outer;
  std::vector<AtomId> own;
  for (const AtomId atom : node.reduced) {
    const AtomId loop = graph_.pool.add_atom(graph_.pool.atom(atom).extent);
    inner[atom] = graph_.pool.of(loop);
    own.push_back(loop);
  }
  nest.atoms.insert(nest.atoms.end(), own.begin(), own.end());
  for (const AtomId loop : own) nests_.emplace(loop, nest);
  uint32_t condition = kCertain;
  if (!condition_of(node.guards, inner, predicate, condition)) return;
  const uint32_t exists = conjunction(predicate, condition, false);
  const size_t operands = node.kind == AccessKind::kContraction ? 2 : 1;
  for (size_t i = 0; i < operands; ++i) visit_read(node.operands[i], inner, exists);
}

void AccessWalk::visit_read(const Read& read, const Binding& binding, uint32_t predicate) {
  const std::vector<Piece> pieces = read.pieces;  // a copy: reads may grow the graph
  for (const Piece& piece : pieces) {
    uint32_t condition = kCertain;
    if (!condition_of(piece.guards, binding, predicate, condition)) continue;
    const uint32_t here = conjunction(predicate, condition, false);
    std::vector<ExprId> index;
    for (const ExprId e : piece.index) index.push_back(substituted(e, binding, here));
    visit_element(piece.source, index, here);
    if (condition == kCertain) return;
    predicate = conjunction(predicate, condition, true);
  }
}

}  // namespace stitch
