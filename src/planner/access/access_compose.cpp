#include "planner/access/access_compose.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "graph/error.h"
#include "planner/access/access_guards.h"
#include "planner/access/access_substitute.h"

namespace stitch {

bool is_composed(const Graph& graph, const Node& node) {
  if (is_movement(node.op)) return true;
  switch (node.op) {
    case Op::k_gather:
    case Op::k_gather_elements:
    case Op::k_gather_nd:
      return true;
    case Op::k_reduce: {  // over axes of extent 1
      const auto extents = constant_extents(graph.type(node.operands[0]).shape);
      const auto& axes = std::get<ReduceAttributes>(node.attributes).axes;
      return std::all_of(axes.begin(), axes.end(),
                         [&](int axis) { return extents[static_cast<size_t>(axis)] == 1; });
    }
    default:
      return false;
  }
}

ReadComposer::ReadComposer(const Graph& graph, AccessGraph& access)
    : graph_(graph), access_(access), placed_(graph.value_count()) {}

Read ReadComposer::read(ValueId value, const std::vector<ExprId>& index) {
  Draft draft;
  element(draft, value, index, {});
  return finish(draft);
}

GuardedRead ReadComposer::read_inside(ValueId value, const std::vector<ExprId>& index,
                                      const std::vector<Guard>& conditions) {
  const std::vector<int64_t> shape = extents(value);
  GuardedRead result;
  Draft draft;
  Index bounded = index;
  for (const Guard& condition : conditions) {
    result.ever = result.ever && require(access_.pool, result.guards, condition);
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    result.ever = result.ever && inside(draft, result.guards, bounded[d], shape[d]);
  }
  if (result.ever) element(draft, value, bounded, {});
  result.read = finish(draft);
  return result;
}

size_t ReadComposer::piece_count(ValueId value) const {
  if (placed(value).valid()) return 1;
  const Node& node = graph_.node(graph_.value(value).producer);
  size_t count = 0;
  switch (node.op) {
    case Op::k_concat:
      for (const ValueId operand : node.operands) count += piece_count(operand);
      return count;
    case Op::k_pad:
      return piece_count(node.operands[0]) + piece_count(node.operands[1]);
    default:
      return piece_count(node.operands[0]);
  }
}

// Writes the scratch atoms out again and gives them back.
Read ReadComposer::finish(Draft& draft) {
  for (const AtomId atom : draft.scratch) {
    free_atoms_[access_.pool.atom(atom).extent].push_back(atom);
  }
  if (draft.meaning.empty()) return std::move(draft.read);
  return AccessSubstitution(access_, draft.meaning).read(draft.read);
}

// Adds the guard 0 <= index < extent and replaces the index by a scratch atom, unless ranges prove
// the guard. False when it can never hold.
bool ReadComposer::inside(Draft& draft, Guards& guards, ExprId& index, int64_t extent) {
  const Range range = access_.pool.range(index);
  if (range.low >= 0 && range.high < extent) return true;
  if (!require(access_.pool, guards, {index, 0, extent})) return false;
  std::vector<AtomId>& unused = free_atoms_[extent];
  if (unused.empty()) unused.push_back(access_.pool.add_atom(extent));
  const AtomId atom = unused.back();
  unused.pop_back();
  draft.scratch.push_back(atom);
  draft.meaning.emplace(atom, AccessSubstitution(access_, draft.meaning).expr(index));
  index = access_.pool.of(atom);
  return true;
}

// Appends the pieces that read value[index] where `guards` hold; the last of them has no others.
void ReadComposer::element(Draft& draft, ValueId value, Index index, const Guards& guards) {
  if (placed(value).valid()) return add_piece(draft, value, std::move(index), guards);
  const Node& node = graph_.node(graph_.value(value).producer);
  const std::vector<int64_t> shape = extents(value);
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {  // empty: nothing is ever read
    const Index first(graph_.type(node.operands[0]).shape.size(), access_.pool.constant(0));
    return element(draft, node.operands[0], first, guards);
  }
  switch (node.op) {
    case Op::k_pad:
      return padded_element(draft, node, std::move(index), guards);
    case Op::k_concat:
      return joined_element(draft, node, index, guards);
    case Op::k_gather:
    case Op::k_gather_elements:
    case Op::k_gather_nd:
      return gathered_element(draft, node, index, guards);
    default:
      return moved_element(draft, node, index, guards);
  }
}

void ReadComposer::add_piece(Draft& draft, ValueId value, Index index, const Guards& guards) {
  Piece piece;
  piece.source = placed(value);
  piece.index = std::move(index);
  piece.guards = guards;
  draft.read.pieces.push_back(std::move(piece));
}

// Ops that map an index to one index of operand 0.
void ReadComposer::moved_element(Draft& draft, const Node& node, const Index& index,
                                 const Guards& guards) {
  IndexPool& pool = access_.pool;
  const std::vector<int64_t> from = extents(node.operands[0]), to = extents(node.results[0]);
  Index source(from.size(), pool.constant(0));
  switch (node.op) {
    case Op::k_reshape:
      source = reshaped(node, index);
      break;
    case Op::k_broadcast: {
      const auto& axes = std::get<BroadcastAttributes>(node.attributes).axes;
      for (size_t i = 0; i < from.size(); ++i) {
        const size_t axis = static_cast<size_t>(axes[i]);
        if (from[i] != 1) source[i] = index[axis];
      }
      break;
    }
    case Op::k_transpose: {
      const auto& perm = std::get<TransposeAttributes>(node.attributes).perm;
      for (size_t i = 0; i < perm.size(); ++i) source[static_cast<size_t>(perm[i])] = index[i];
      break;
    }
    case Op::k_slice: {
      const auto& slice = std::get<SliceAttributes>(node.attributes);
      for (size_t i = 0; i < from.size(); ++i) {
        source[i] = pool.add(pool.scale(index[i], slice.steps[i]), slice.starts[i].constant());
      }
      break;
    }
    case Op::k_reverse:
      source = index;
      for (const int axis : std::get<ReverseAttributes>(node.attributes).axes) {
        const size_t d = static_cast<size_t>(axis);
        source[d] = pool.subtract(pool.constant(from[d] - 1), index[d]);
      }
      break;
    case Op::k_reduce: {
      const auto& axes = std::get<ReduceAttributes>(node.attributes).axes;
      size_t next = 0;
      for (size_t d = 0; d < from.size(); ++d) {
        const bool dropped = std::binary_search(axes.begin(), axes.end(), static_cast<int>(d));
        if (!dropped) source[d] = index[next++];
      }
      break;
    }
    default:
      throw InternalError("reads cannot be composed through " +
                          graph_.describe(graph_.value(node.results[0]).producer));
  }
  element(draft, node.operands[0], std::move(source), guards);
}

// Group by group, so that a dim that stays is not divided.
ReadComposer::Index ReadComposer::reshaped(const Node& node, const Index& index) {
  IndexPool& pool = access_.pool;
  const std::vector<int64_t> from = extents(node.operands[0]), to = extents(node.results[0]);
  Index source(from.size(), pool.constant(0));
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    const size_t from_start = i, to_start = j;
    int64_t from_size = from[i++], to_size = to[j++];
    while (from_size != to_size) {
      if (from_size < to_size) {
        from_size *= from[i++];
      } else {
        to_size *= to[j++];
      }
    }
    const auto at = [](const auto& all, size_t start, size_t end) {
      using Vector = std::decay_t<decltype(all)>;
      return Vector(all.begin() + static_cast<std::ptrdiff_t>(start),
                    all.begin() + static_cast<std::ptrdiff_t>(end));
    };
    const ExprId linear = pool.linearise(at(index, to_start, j), at(to, to_start, j));
    const Index parts = pool.delinearise(linear, at(from, from_start, i));
    std::copy(parts.begin(), parts.end(), source.begin() + static_cast<std::ptrdiff_t>(from_start));
  }
  return source;
}

void ReadComposer::padded_element(Draft& draft, const Node& node, Index index,
                                  const Guards& guards) {
  IndexPool& pool = access_.pool;
  const auto& pad = std::get<PadAttributes>(node.attributes);
  const std::vector<int64_t> from = extents(node.operands[0]);
  Guards within = guards;
  bool ever = true;
  for (size_t d = 0; d < from.size(); ++d) {
    if (pad.low[d].constant() == 0 && pad.high[d].constant() == 0) continue;
    index[d] = pool.add(index[d], -pad.low[d].constant());
    switch (pad.mode) {
      case PadMode::kConstant:
        ever = ever && inside(draft, within, index[d], from[d]);
        break;
      case PadMode::kEdge:
        index[d] = pool.min(pool.max(index[d], 0), from[d] - 1);
        break;
      case PadMode::kReflect:
        index[d] = reflected(index[d], from[d]);
        break;
      case PadMode::kWrap:
        index[d] = pool.mod(index[d], from[d]);
        break;
    }
  }
  const bool always = ever && within == guards;
  if (ever) element(draft, node.operands[0], std::move(index), within);
  if (!always) element(draft, node.operands[1], {}, guards);
}

// Mirrored at both ends without repeating them, n - 1 - |(i mod 2(n-1)) - (n-1)|.
ExprId ReadComposer::reflected(ExprId index, int64_t extent) {
  IndexPool& pool = access_.pool;
  if (extent == 1) return pool.constant(0);
  const auto magnitude = [&](ExprId e) { return pool.subtract(pool.max(e, 0), pool.min(e, 0)); };
  const Range range = pool.range(index);
  const bool single = range.low > -extent && range.high < 2 * extent - 1;
  index = single ? magnitude(index) : pool.mod(index, 2 * (extent - 1));
  const ExprId beyond = magnitude(pool.add(index, 1 - extent));
  return pool.subtract(pool.constant(extent - 1), beyond);
}

void ReadComposer::joined_element(Draft& draft, const Node& node, const Index& index,
                                  const Guards& guards) {
  IndexPool& pool = access_.pool;
  const size_t axis = static_cast<size_t>(std::get<AxisAttributes>(node.attributes).axis);
  const Range range = pool.range(index[axis]);
  int64_t start = 0;
  for (const ValueId operand : node.operands) {
    const int64_t extent = extents(operand)[axis];
    const int64_t end = start + extent;
    const bool last = range.high < end;
    // Earlier pieces took everything below `start`.
    Guards below = guards;
    if (extent > 0 && (last || require(pool, below, {index[axis], range.low, end}))) {
      Index source = index;
      source[axis] = pool.add(source[axis], -start);
      Guards implied;
      if (inside(draft, implied, source[axis], extent)) element(draft, operand, source, below);
    }
    if (last && extent > 0) return;
    start = end;
  }
}

}  // namespace stitch
