#include "frontend/primitive_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "graph/error.h"
#include "graph/evaluate.h"

namespace stitch {

Shape broadcast_shape(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {  // i counts from the last axis
    const Dim x = i < a.size() ? a[a.size() - 1 - i] : Dim(1);
    const Dim y = i < b.size() ? b[b.size() - 1 - i] : Dim(1);
    Dim& out = result[result.size() - 1 - i];
    if (x == y || y == Dim(1)) {
      out = x;
    } else if (x == Dim(1)) {
      out = y;
    } else {
      throw ModelError(fmt::format("cannot broadcast {} with {}", to_string(a), to_string(b)));
    }
  }
  return result;
}

int normalise_axis(int64_t axis, size_t rank) {
  const auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r) throw ModelError(fmt::format("axis {} is outside rank {}", axis, r));
  return static_cast<int>(axis < 0 ? axis + r : axis);
}

std::vector<int> normalise_axes(const std::vector<int64_t>& axes, size_t rank) {
  std::vector<int> result;
  for (const int64_t axis : axes) result.push_back(normalise_axis(axis, rank));
  std::sort(result.begin(), result.end());
  const auto repeated = std::adjacent_find(result.begin(), result.end());
  if (repeated != result.end()) throw ModelError(fmt::format("axis {} is given twice", *repeated));
  return result;
}

ValueId PrimitiveBuilder::node(Op op, std::vector<ValueId> operands, Attributes attributes,
                               const ValueType* type) {
  return graph_.add(op, std::move(operands), std::move(attributes),
                    source_.valid() ? std::vector{source_} : std::vector<SourceId>{}, type);
}

NodeId PrimitiveBuilder::node_of_many(Op op, std::vector<ValueId> operands, Attributes attributes) {
  return graph_.add_node(op, std::move(operands), std::move(attributes),
                         source_.valid() ? std::vector{source_} : std::vector<SourceId>{});
}

ValueId PrimitiveBuilder::constant(Tensor tensor) { return graph_.add_constant(std::move(tensor)); }

ValueId PrimitiveBuilder::scalar(DType dtype, double value) {
  const auto key = std::pair(dtype, std::bit_cast<uint64_t>(value));
  const auto found = scalars_.find(key);
  if (found != scalars_.end()) return found->second;
  return scalars_[key] = constant(Tensor::scalar(dtype, value));
}

ValueId PrimitiveBuilder::scalar_integer(DType dtype, int64_t value) {
  Tensor tensor(dtype, {});
  tensor.set_integer(0, value);
  return constant(std::move(tensor));
}

ValueId PrimitiveBuilder::filled(DType dtype, double value, const Shape& shape) {
  return broadcast(scalar(dtype, value), shape);
}

ValueId PrimitiveBuilder::iota(DType dtype, const Shape& shape, int axis) {
  const ValueType type{dtype, shape};
  return node(Op::k_iota, {}, IotaAttributes{.axis = axis}, &type);
}

ValueId PrimitiveBuilder::unary(Op op, ValueId x) { return node(op, {x}); }

ValueId PrimitiveBuilder::binary(Op op, ValueId a, ValueId b) {
  const Shape common = broadcast_shape(shape(a), shape(b));
  const ValueId x = broadcast(a, common);
  const ValueId y = broadcast(b, common);
  return node(op, {x, y});
}

ValueId PrimitiveBuilder::binary(Op op, ValueId a, double b) {
  return binary(op, a, scalar(dtype(a), b));
}

ValueId PrimitiveBuilder::binary(Op op, double a, ValueId b) {
  return binary(op, scalar(dtype(b), a), b);
}

ValueId PrimitiveBuilder::compare(CompareKind kind, ValueId a, ValueId b) {
  const Shape common = broadcast_shape(shape(a), shape(b));
  const ValueId x = broadcast(a, common);
  const ValueId y = broadcast(b, common);
  return node(Op::k_compare, {x, y}, CompareAttributes{.kind = kind});
}

ValueId PrimitiveBuilder::compare(CompareKind kind, ValueId a, double b) {
  return compare(kind, a, scalar(dtype(a), b));
}

ValueId PrimitiveBuilder::bitwise(BitwiseKind kind, ValueId a, ValueId b) {
  const Shape common = broadcast_shape(shape(a), shape(b));
  const ValueId x = broadcast(a, common);
  const ValueId y = broadcast(b, common);
  return node(Op::k_bitwise, {x, y}, BitwiseAttributes{.kind = kind});
}

ValueId PrimitiveBuilder::shift(ShiftKind kind, ValueId a, ValueId b) {
  const Shape common = broadcast_shape(shape(a), shape(b));
  const ValueId x = broadcast(a, common);
  const ValueId y = broadcast(b, common);
  return node(Op::k_shift, {x, y}, ShiftAttributes{.kind = kind});
}

ValueId PrimitiveBuilder::select(ValueId condition, ValueId a, ValueId b) {
  const Shape common = broadcast_shape(shape(condition), broadcast_shape(shape(a), shape(b)));
  const ValueId c = broadcast(condition, common);
  const ValueId x = broadcast(a, common);
  const ValueId y = broadcast(b, common);
  return node(Op::k_select, {c, x, y});
}

ValueId PrimitiveBuilder::cast(ValueId x, DType to) {
  if (dtype(x) == to) return x;
  const ValueType type{to, shape(x)};
  return node(Op::k_cast, {x}, CastAttributes{}, &type);
}

ValueId PrimitiveBuilder::reshape(ValueId x, const Shape& to) {
  if (shape(x) == to) return x;
  const ValueType type{dtype(x), to};
  return node(Op::k_reshape, {x}, {}, &type);
}

ValueId PrimitiveBuilder::broadcast(ValueId x, const Shape& to) {
  if (shape(x) == to) return x;
  if (rank(x) > to.size()) {
    throw ModelError(fmt::format("cannot broadcast {} to {}", to_string(shape(x)), to_string(to)));
  }
  std::vector<int> axes(rank(x));
  std::iota(axes.begin(), axes.end(), static_cast<int>(to.size() - rank(x)));
  return broadcast_axes(x, to, std::move(axes));
}

ValueId PrimitiveBuilder::broadcast_axes(ValueId x, const Shape& to, std::vector<int> axes) {
  if (shape(x) == to) return x;
  const ValueType type{dtype(x), to};
  return node(Op::k_broadcast, {x}, BroadcastAttributes{.axes = std::move(axes)}, &type);
}

ValueId PrimitiveBuilder::transpose(ValueId x, const std::vector<int>& perm) {
  if (std::is_sorted(perm.begin(), perm.end())) return x;
  return node(Op::k_transpose, {x}, TransposeAttributes{.perm = perm});
}

ValueId PrimitiveBuilder::slice(ValueId x, SliceAttributes bounds) {
  const Shape extents = shape(x);
  bool whole = true;
  for (size_t i = 0; i < extents.size(); ++i) {
    whole = whole && bounds.starts[i] == Dim(0) && bounds.limits[i] == extents[i] &&
            bounds.steps[i] == 1;
  }
  return whole ? x : node(Op::k_slice, {x}, std::move(bounds));
}

ValueId PrimitiveBuilder::slice_axis(ValueId x, int axis, const Dim& start, const Dim& limit,
                                     int64_t step) {
  SliceAttributes bounds;
  bounds.starts.assign(rank(x), Dim(0));
  bounds.limits = shape(x);
  bounds.steps.assign(rank(x), 1);
  const auto i = static_cast<size_t>(axis);
  bounds.starts[i] = start;
  bounds.limits[i] = limit;
  bounds.steps[i] = step;
  return slice(x, std::move(bounds));
}

ValueId PrimitiveBuilder::reverse(ValueId x, std::vector<int> axes) {
  if (axes.empty()) return x;
  return node(Op::k_reverse, {x}, ReverseAttributes{.axes = std::move(axes)});
}

ValueId PrimitiveBuilder::pad(ValueId x, ValueId fill, PadAttributes amounts) {
  const auto zero = [](const Dim& d) { return d == Dim(0); };
  if (std::all_of(amounts.low.begin(), amounts.low.end(), zero) &&
      std::all_of(amounts.high.begin(), amounts.high.end(), zero)) {
    return x;
  }
  return node(Op::k_pad, {x, fill}, std::move(amounts));
}

ValueId PrimitiveBuilder::concat(const std::vector<ValueId>& parts, int axis) {
  if (parts.size() == 1) return parts.front();
  return node(Op::k_concat, parts, AxisAttributes{.axis = axis});
}

ValueId PrimitiveBuilder::insert_axis(ValueId x, int axis) {
  Shape to = shape(x);
  to.insert(to.begin() + axis, Dim(1));
  return reshape(x, to);
}

ValueId PrimitiveBuilder::drop_axis(ValueId x, int axis) {
  Shape to = shape(x);
  to.erase(to.begin() + axis);
  return reshape(x, to);
}

ValueId PrimitiveBuilder::gather(ValueId x, ValueId indices, int axis) {
  return node(Op::k_gather, {x, indices}, AxisAttributes{.axis = axis});
}

ValueId PrimitiveBuilder::gather_elements(ValueId x, ValueId indices, int axis) {
  return node(Op::k_gather_elements, {x, indices}, AxisAttributes{.axis = axis});
}

ValueId PrimitiveBuilder::gather_nd(ValueId x, ValueId indices, int batch_dims) {
  return node(Op::k_gather_nd, {x, indices}, GatherNdAttributes{.batch_dims = batch_dims});
}

ValueId PrimitiveBuilder::wrap_indices(ValueId indices, const Dim& extent) {
  if (!is_signed(dtype(indices))) return indices;
  const ValueId size = scalar_integer(dtype(indices), extent.constant());
  return select(compare(CompareKind::kLt, indices, 0.0), add(indices, size), indices);
}

ValueId PrimitiveBuilder::reduce(ReduceKind kind, ValueId x, std::vector<int> axes,
                                 bool keep_axes) {
  if (axes.empty()) return x;
  Shape kept = shape(x);
  for (const int axis : axes) kept[static_cast<size_t>(axis)] = Dim(1);
  const ValueId reduced =
      node(Op::k_reduce, {x}, ReduceAttributes{.kind = kind, .axes = std::move(axes)});
  return keep_axes ? reshape(reduced, kept) : reduced;
}

ValueId PrimitiveBuilder::mean(ValueId x, const std::vector<int>& axes, bool keep_axes) {
  Dim count(1);
  for (const int axis : axes) count = count * dim(x, axis);
  const ValueId sum = reduce(ReduceKind::kSum, x, axes, keep_axes);
  if (is_float(dtype(x))) return div(sum, static_cast<double>(count.constant()));
  return binary(Op::k_div, sum, scalar_integer(dtype(x), count.constant()));
}

ValueId PrimitiveBuilder::spread(ValueId reduced, const Shape& to, const std::vector<int>& axes) {
  std::vector<int> kept;
  for (int axis = 0; axis < static_cast<int>(to.size()); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) kept.push_back(axis);
  }
  return broadcast_axes(reduced, to, std::move(kept));
}

ValueId PrimitiveBuilder::matmul(ValueId a, ValueId b) {
  const bool vector_a = rank(a) == 1;
  const bool vector_b = rank(b) == 1;
  if (rank(a) == 0 || rank(b) == 0) throw ModelError("matmul of a scalar");
  ValueId x = vector_a ? insert_axis(a, 0) : a;
  ValueId y = vector_b ? insert_axis(b, 1) : b;
  const Shape sx = shape(x);
  const Shape sy = shape(y);
  const Dim m = sx[sx.size() - 2], k = sx.back(), k2 = sy[sy.size() - 2], n = sy.back();
  if (!(k == k2)) {
    throw ModelError(fmt::format("cannot multiply {} by {}: {} columns against {} rows",
                                 to_string(shape(a)), to_string(shape(b)), k.to_string(),
                                 k2.to_string()));
  }
  const DType element = dtype(a);
  const DType accumulate = is_float(element) ? compute_type(element) : element;
  const MatmulAttributes attributes{.accumulate = accumulate};
  Shape result;
  ValueId product;
  if (sy.size() == 2 && sx.size() > 2) {  // one matrix of all rows
    const Shape leading(sx.begin(), sx.end() - 1);
    x = reshape(x, {element_count(leading), k});
    product = node(Op::k_matmul, {x, y}, attributes);
    result = leading;
    result.push_back(n);
  } else {
    const Shape batch =
        broadcast_shape(Shape(sx.begin(), sx.end() - 2), Shape(sy.begin(), sy.end() - 2));
    Shape bx = batch, by = batch;
    bx.insert(bx.end(), {m, k});
    by.insert(by.end(), {k, n});
    x = broadcast(x, bx);
    y = broadcast(y, by);
    product = node(Op::k_matmul, {x, y}, attributes);
    result = batch;
    result.insert(result.end(), {m, n});
  }
  if (vector_b) result.pop_back();
  if (vector_a) result.erase(result.end() - (vector_b ? 1 : 2));
  return reshape(product, result);
}

std::vector<std::string> PrimitiveBuilder::inputs_behind(ValueId x) const {
  std::vector<char> reached(graph_.value_count(), 0);
  std::vector<ValueId> pending = {x};
  while (!pending.empty()) {
    const ValueId value = pending.back();
    pending.pop_back();
    if (reached[value.index]) continue;
    reached[value.index] = 1;
    const NodeId producer = graph_.value(value).producer;
    if (!producer.valid()) continue;
    const auto& operands = graph_.node(producer).operands;
    pending.insert(pending.end(), operands.begin(), operands.end());
  }
  std::vector<std::string> names;
  for (const ValueId input : graph_.inputs()) {
    if (reached[input.index]) names.push_back(graph_.value(input).name);
  }
  return names;
}

std::optional<Tensor> PrimitiveBuilder::known(ValueId x, int depth) {
  constexpr int kDeepest = 1000;
  constexpr int64_t kLargest = int64_t{1} << 22;  // elements
  const auto found = known_.find(x);
  if (found != known_.end()) return found->second;
  if (const Tensor* tensor = graph_.constant(x)) return *tensor;
  std::optional<Tensor>& result = known_[x];
  const Value& value = graph_.value(x);
  if (!value.producer.valid() || !is_constant(value.type.shape)) return result;
  int64_t count = 1;
  for (const int64_t extent : constant_extents(value.type.shape)) {
    count = extent == 0 ? 0 : count > kLargest ? count : count * extent;
  }
  if (count > kLargest || depth > kDeepest) return result;
  const NodeId producer = value.producer;
  const std::vector<ValueId> operand_ids = graph_.node(producer).operands;
  std::vector<Tensor> operands;
  for (const ValueId operand : operand_ids) {
    auto tensor = known(operand, depth + 1);
    if (!tensor) return known_[x];
    operands.push_back(std::move(*tensor));
  }
  const uint32_t index = graph_.value(x).result;
  return known_[x] = evaluate_node(graph_, producer, operands)[index];
}

}  // namespace stitch
