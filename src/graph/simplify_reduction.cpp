// Rules over reductions of no element or of one, and gathers by constant indices.
#include <algorithm>

#include "graph/reduction_scalar.h"
#include "graph/simplifier.h"
#include "graph/working_type.h"

namespace stitch {
namespace {

using Result = std::optional<ValueId>;

// What a reduction of no elements gives.
Tensor identity_of(DType dtype, ReduceKind kind) {
  Tensor scalar(dtype, {});
  visit_type(working_dtype(dtype, EvaluationPrecision::kNative), [&](auto tag) {
    const auto identity = reduction_identity<typename decltype(tag)::Type>(kind);
    if (is_float(dtype))
      scalar.set_real(0, static_cast<double>(identity));
    else
      scalar.set_integer(0, static_cast<int64_t>(identity));
  });
  return scalar;
}

Result simplify_reduce(Simplifier& s, const Candidate& c) {
  const ValueId x = c.operands[0];
  const auto& reduce = attributes_as<ReduceAttributes>(c.attributes);
  const Shape& shape = s.type(x).shape;
  const bool no_elements = std::any_of(reduce.axes.begin(), reduce.axes.end(), [&](int axis) {
    return shape[static_cast<size_t>(axis)] == Dim(0);
  });
  if (no_elements) return s.make_splat(c.type, identity_of(c.type.dtype, reduce.kind));
  const bool nothing = std::all_of(reduce.axes.begin(), reduce.axes.end(), [&](int axis) {
    return shape[static_cast<size_t>(axis)] == Dim(1);
  });
  if (nothing) return s.make(Op::k_reshape, {x}, {}, c.type);
  // min of min and max of max do not depend on the order.
  const auto* inner = s.producer_attributes<ReduceAttributes>(x, Op::k_reduce);
  const bool picks = reduce.kind == ReduceKind::kMin || reduce.kind == ReduceKind::kMax;
  if (inner == nullptr || !picks || inner->kind != reduce.kind) return std::nullopt;
  const ValueId origin = s.producer(x, Op::k_reduce)->operands[0];
  ReduceAttributes both{reduce.kind, inner->axes};
  int outer_axis = 0;
  for (int axis = 0; axis < static_cast<int>(s.type(origin).shape.size()); ++axis) {
    if (std::find(inner->axes.begin(), inner->axes.end(), axis) != inner->axes.end()) continue;
    const auto& axes = reduce.axes;
    if (std::find(axes.begin(), axes.end(), outer_axis) != axes.end()) both.axes.push_back(axis);
    ++outer_axis;
  }
  std::sort(both.axes.begin(), both.axes.end());
  return s.make(Op::k_reduce, {origin}, both, c.type);
}

// Constant indices that count up by one are a slice: a move instead of an indexed read.
Result simplify_gather(Simplifier& s, const Candidate& c) {
  const Tensor* indices = s.graph().constant(c.operands[1]);
  const auto axis = static_cast<size_t>(attributes_as<AxisAttributes>(c.attributes).axis);
  const ValueType& type = s.type(c.operands[0]);
  if (indices == nullptr || !type.shape[axis].is_constant()) return std::nullopt;
  const int64_t extent = type.shape[axis].constant();
  const int64_t count = indices->element_count();
  if (count == 0 || extent == 0) return std::nullopt;
  const auto normalized = [&](int64_t i) {
    const int64_t index = indices->integer(i);
    return std::clamp<int64_t>(index < 0 ? index + extent : index, 0, extent - 1);
  };
  for (int64_t i = 1; i < count; ++i) {
    if (normalized(i) != normalized(0) + i) return std::nullopt;
  }
  SliceAttributes slice;
  for (size_t i = 0; i < type.shape.size(); ++i) {
    slice.starts.push_back(i == axis ? Dim(normalized(0)) : Dim(0));
    slice.limits.push_back(i == axis ? Dim(normalized(0) + count) : type.shape[i]);
    slice.steps.push_back(1);
  }
  ValueType part = type;
  part.shape[axis] = count;
  const ValueId taken = s.make(Op::k_slice, {c.operands[0]}, slice, part);
  return s.make(Op::k_reshape, {taken}, {}, c.type);
}

}  // namespace

std::optional<ValueId> simplify_reduction(Simplifier& s, const Candidate& c) {
  if (c.op == Op::k_reduce) return simplify_reduce(s, c);
  // Sums of no products.
  if (c.op == Op::k_matmul && s.type(c.operands[0]).shape.back() == Dim(0))
    return s.make_splat(c.type, Tensor(c.type.dtype, {}));
  if (c.op == Op::k_gather) return simplify_gather(s, c);
  return std::nullopt;
}

}  // namespace stitch
