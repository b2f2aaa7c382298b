// Rules over movement ops: what moves nothing, and two moves that are one.
#include <algorithm>
#include <numeric>

#include "graph/simplifier.h"

namespace stitch {
namespace {

using Result = std::optional<ValueId>;

Shape without_units(const Shape& shape) {
  Shape rest;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(rest),
               [](const Dim& dim) { return !(dim == Dim(1)); });
  return rest;
}

Result simplify_reshape(Simplifier& s, const Candidate& c) {
  const ValueId x = c.operands[0];
  if (s.type(x).shape == c.type.shape) return x;
  if (const Node* inner = s.producer(x, Op::k_reshape)) {
    return s.make(Op::k_reshape, {inner->operands[0]}, {}, c.type);
  }
  return std::nullopt;
}

Result simplify_transpose(Simplifier& s, const Candidate& c) {
  const ValueId x = c.operands[0];
  const std::vector<int>& perm = attributes_as<TransposeAttributes>(c.attributes).perm;
  if (std::is_sorted(perm.begin(), perm.end())) return x;
  if (const auto* inner = s.producer_attributes<TransposeAttributes>(x, Op::k_transpose)) {
    TransposeAttributes both;
    for (const int axis : perm) both.perm.push_back(inner->perm[static_cast<size_t>(axis)]);
    const ValueId origin = s.producer(x, Op::k_transpose)->operands[0];
    return s.make(Op::k_transpose, {origin}, both, c.type);
  }
  // Axes longer than 1 that keep their order: the elements stay where they are.
  std::vector<int> moved;
  for (const int axis : perm) {
    if (!(s.type(x).shape[static_cast<size_t>(axis)] == Dim(1))) moved.push_back(axis);
  }
  if (std::is_sorted(moved.begin(), moved.end())) {
    return s.make(Op::k_reshape, {x}, {}, c.type);
  }
  return std::nullopt;
}

Result simplify_broadcast(Simplifier& s, const Candidate& c) {
  const ValueId x = c.operands[0];
  const std::vector<int>& axes = attributes_as<BroadcastAttributes>(c.attributes).axes;
  if (s.type(x).shape == c.type.shape) return x;
  if (without_units(s.type(x).shape) == without_units(c.type.shape)) {
    return s.make(Op::k_reshape, {x}, {}, c.type);
  }
  if (const auto* inner = s.producer_attributes<BroadcastAttributes>(x, Op::k_broadcast)) {
    BroadcastAttributes both;
    for (const int axis : inner->axes) both.axes.push_back(axes[static_cast<size_t>(axis)]);
    const ValueId origin = s.producer(x, Op::k_broadcast)->operands[0];
    return s.make(Op::k_broadcast, {origin}, both, c.type);
  }
  // Of a reshape that only adds or drops axes of extent 1: broadcast without it.
  const Node* reshape = s.producer(x, Op::k_reshape);
  if (reshape == nullptr) return std::nullopt;
  const ValueId origin = reshape->operands[0];
  const Shape& from = s.type(origin).shape;
  const Shape kept = without_units(from);
  if (kept.size() != from.size() || !(kept == without_units(s.type(x).shape))) return std::nullopt;
  BroadcastAttributes direct;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!(s.type(x).shape[i] == Dim(1))) direct.axes.push_back(axes[i]);
  }
  return s.make(Op::k_broadcast, {origin}, direct, c.type);
}

Result simplify_slice(Simplifier& s, const Candidate& c) {
  const ValueId x = c.operands[0];
  if (s.type(x).shape == c.type.shape) {
    const auto& whole = attributes_as<SliceAttributes>(c.attributes);
    const bool from_start = std::all_of(whole.starts.begin(), whole.starts.end(),
                                        [](const Dim& start) { return start == Dim(0); });
    if (from_start) return x;
  }
  const auto* inner = s.producer_attributes<SliceAttributes>(x, Op::k_slice);
  if (inner == nullptr || !is_constant(c.type.shape)) return std::nullopt;
  const auto& outer = attributes_as<SliceAttributes>(c.attributes);
  SliceAttributes both;
  for (size_t i = 0; i < outer.starts.size(); ++i) {
    if (c.type.shape[i].constant() == 0) return std::nullopt;
    const Dim step = inner->steps[i];
    const Dim start = inner->starts[i] + outer.starts[i] * step;
    const int64_t stride = inner->steps[i] * outer.steps[i];
    both.starts.push_back(start);
    both.limits.push_back(start + (c.type.shape[i] - 1) * Dim(stride) + 1);
    both.steps.push_back(stride);
  }
  const ValueId origin = s.producer(x, Op::k_slice)->operands[0];
  return s.make(Op::k_slice, {origin}, both, c.type);
}

Result simplify_reverse(Simplifier& s, const Candidate& c) {
  const ValueId x = c.operands[0];
  const std::vector<int>& axes = attributes_as<ReverseAttributes>(c.attributes).axes;
  const auto matters = [&](int axis) {
    return !(c.type.shape[static_cast<size_t>(axis)] == Dim(1));
  };
  if (std::none_of(axes.begin(), axes.end(), matters)) return x;
  if (const auto* inner = s.producer_attributes<ReverseAttributes>(x, Op::k_reverse)) {
    ReverseAttributes both;
    for (int axis = 0; axis < static_cast<int>(c.type.shape.size()); ++axis) {
      const auto times = std::count(axes.begin(), axes.end(), axis) +
                         std::count(inner->axes.begin(), inner->axes.end(), axis);
      if (times % 2 == 1) both.axes.push_back(axis);
    }
    const ValueId origin = s.producer(x, Op::k_reverse)->operands[0];
    return s.make(Op::k_reverse, {origin}, both, c.type);
  }
  return std::nullopt;
}

Result simplify_pad(Simplifier& s, const Candidate& c) {
  const auto& pad = attributes_as<PadAttributes>(c.attributes);
  const auto nothing = [](const Dim& amount) { return amount == Dim(0); };
  if (std::all_of(pad.low.begin(), pad.low.end(), nothing) &&
      std::all_of(pad.high.begin(), pad.high.end(), nothing)) {
    return c.operands[0];
  }
  if (pad.mode != PadMode::kConstant) return std::nullopt;
  // The padding of a splat with its own value.
  const auto inside = s.splat(c.operands[0]);
  const auto outside = s.splat(c.operands[1]);
  if (inside && outside &&
      std::equal(inside->bytes().begin(), inside->bytes().end(), outside->bytes().begin())) {
    return s.make_splat(c.type, *inside);
  }
  return std::nullopt;
}

Result simplify_concat(Simplifier& s, const Candidate& c) {
  if (c.operands.size() == 1) return c.operands[0];
  const auto& attributes = attributes_as<AxisAttributes>(c.attributes);
  const auto axis = static_cast<size_t>(attributes.axis);
  std::vector<ValueId> parts;
  bool changed = false;
  for (const ValueId operand : c.operands) {
    const auto* inner = s.producer_attributes<AxisAttributes>(operand, Op::k_concat);
    if (s.type(operand).shape[axis] == Dim(0)) {
      changed = true;
    } else if (inner != nullptr && inner->axis == attributes.axis) {
      const std::vector<ValueId>& nested = s.producer(operand, Op::k_concat)->operands;
      parts.insert(parts.end(), nested.begin(), nested.end());
      changed = true;
    } else {
      parts.push_back(operand);
    }
  }
  if (!changed || parts.empty()) return std::nullopt;
  return s.make(Op::k_concat, parts, attributes, c.type);
}

}  // namespace

std::optional<ValueId> simplify_movement(Simplifier& s, const Candidate& c) {
  if (c.op == Op::k_reshape) return simplify_reshape(s, c);
  if (c.op == Op::k_transpose) return simplify_transpose(s, c);
  if (c.op == Op::k_broadcast) return simplify_broadcast(s, c);
  if (c.op == Op::k_slice) return simplify_slice(s, c);
  if (c.op == Op::k_reverse) return simplify_reverse(s, c);
  if (c.op == Op::k_pad) return simplify_pad(s, c);
  if (c.op == Op::k_concat) return simplify_concat(s, c);
  return std::nullopt;
}

// sink_broadcast: exp(broadcast(x)) computes each element once per repetition; broadcast(exp(x))
// once. A splat operand broadcasts from any shape.
//
//   add(broadcast(w) [8,768], splat 1 [8,768])  =>  broadcast(add(w, splat 1 [768]))
std::optional<ValueId> sink_broadcast(Simplifier& s, const Candidate& c) {
  if (!is_elementwise(c.op)) return std::nullopt;
  std::optional<BroadcastAttributes> axes;
  Shape from;
  for (const ValueId operand : c.operands) {
    const auto* broadcast = s.producer_attributes<BroadcastAttributes>(operand, Op::k_broadcast);
    if (broadcast == nullptr) {
      if (!s.splat(operand)) return std::nullopt;
      continue;
    }
    const Shape& source = s.type(s.producer(operand, Op::k_broadcast)->operands[0]).shape;
    if (source.empty()) continue;  // as good as a splat
    if (axes && !(axes->axes == broadcast->axes && from == source)) return std::nullopt;
    axes = *broadcast;
    from = source;
  }
  if (!axes) {
    // All are splats or scalars. A result of one element is left to constant folding.
    const bool small = c.type.shape.empty() || without_units(c.type.shape).empty();
    if (small) return std::nullopt;
    axes = BroadcastAttributes{};
  }
  std::vector<ValueId> operands;
  for (const ValueId operand : c.operands) {
    const Node* broadcast = s.producer(operand, Op::k_broadcast);
    const DType dtype = s.type(operand).dtype;
    if (broadcast != nullptr && s.type(broadcast->operands[0]).shape == from) {
      operands.push_back(broadcast->operands[0]);
    } else if (broadcast != nullptr && s.type(broadcast->operands[0]).shape.empty()) {
      const ValueId scalar = broadcast->operands[0];
      operands.push_back(s.make(Op::k_broadcast, {scalar}, BroadcastAttributes{}, {dtype, from}));
    } else {
      operands.push_back(s.make_splat({dtype, from}, *s.splat(operand)));
    }
  }
  const ValueId small = s.make(c.op, operands, c.attributes, {c.type.dtype, from});
  return s.make(Op::k_broadcast, {small}, *axes, c.type);
}

}  // namespace stitch
