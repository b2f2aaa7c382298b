// Movement ops: strided copies, padding, concatenation.
#include <cstring>

#include "graph/op_evaluation.h"
#include "graph/strided_copy.h"

namespace stitch {
namespace {

Tensor copy_view(const OpCall& call, const StridedView& view) {
  const Tensor& operand = call.operand(0);
  Tensor result(operand.dtype(), call.result_extents);
  visit_bits(operand.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    gather_strided(view, data<T>(operand), mutable_data<T>(result));
  });
  return result;
}

StridedView identity_view(const Tensor& tensor) {
  return {tensor.extents(), row_major_strides(tensor.extents()), 0};
}

Tensor broadcast(const OpCall& call) {
  const StridedView from = identity_view(call.operand(0));
  StridedView view{call.result_extents, std::vector<int64_t>(call.result_extents.size(), 0), 0};
  const std::vector<int>& axes = call.as<BroadcastAttributes>().axes;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (from.extents[i] != 1) view.strides[static_cast<size_t>(axes[i])] = from.strides[i];
  }
  return copy_view(call, view);
}

Tensor transpose(const OpCall& call) {
  const StridedView from = identity_view(call.operand(0));
  StridedView view{call.result_extents, {}, 0};
  for (const int axis : call.as<TransposeAttributes>().perm) {
    view.strides.push_back(from.strides[static_cast<size_t>(axis)]);
  }
  return copy_view(call, view);
}

Tensor slice(const OpCall& call) {
  const auto& slice = call.as<SliceAttributes>();
  StridedView view = identity_view(call.operand(0));
  view.extents = call.result_extents;
  for (size_t i = 0; i < view.extents.size(); ++i) {
    view.base += slice.starts[i].constant() * view.strides[i];
    view.strides[i] *= slice.steps[i];
  }
  return copy_view(call, view);
}

Tensor reverse(const OpCall& call) {
  StridedView view = identity_view(call.operand(0));
  for (const int axis : call.as<ReverseAttributes>().axes) {
    const auto i = static_cast<size_t>(axis);
    view.base += (view.extents[i] - 1) * view.strides[i];
    view.strides[i] = -view.strides[i];
  }
  return copy_view(call, view);
}

Tensor pad_with_value(const OpCall& call) {
  const Tensor& operand = call.operand(0);
  Tensor result(operand.dtype(), call.result_extents);
  StridedView view{operand.extents(), row_major_strides(call.result_extents), 0};
  const auto& pad = call.as<PadAttributes>();
  for (size_t i = 0; i < view.extents.size(); ++i) {
    view.base += pad.low[i].constant() * view.strides[i];
  }
  visit_bits(operand.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    T* out = mutable_data<T>(result);
    std::fill(out, out + result.element_count(), *data<T>(call.operand(1)));
    scatter_strided(view, data<T>(operand), out);
  });
  return result;
}

int64_t positive_mod(int64_t a, int64_t b) { return ((a % b) + b) % b; }

// The operand index that position `i` (counted from the operand's first element) shows.
int64_t padded_source(PadMode mode, int64_t i, int64_t extent) {
  switch (mode) {
    case PadMode::kConstant:
      break;
    case PadMode::kEdge:
      return std::clamp<int64_t>(i, 0, extent - 1);
    case PadMode::kReflect: {  // repeated as often as needed: 0 1 2 1 0 1 2 ...
      if (extent == 1) return 0;
      const int64_t period = 2 * (extent - 1);
      const int64_t position = positive_mod(i, period);
      return position < extent ? position : period - position;
    }
    case PadMode::kWrap:
      return positive_mod(i, extent);
  }
  throw InternalError("constant padding has no source");
}

// Result index i along the axis is operand index sources[i].
Tensor take(const Tensor& operand, int axis, const std::vector<int64_t>& sources) {
  std::vector<int64_t> extents = operand.extents();
  extents[static_cast<size_t>(axis)] = static_cast<int64_t>(sources.size());
  Tensor result(operand.dtype(), extents);
  const AxisView view = view_along(operand.extents(), axis);
  const int64_t row = view.inner * size_bytes(operand.dtype());
  const std::byte* in = operand.bytes().data();
  std::byte* out = result.mutable_bytes().data();
  if (row == 0) return result;
  for (int64_t o = 0; o < view.outer; ++o) {
    for (const int64_t source : sources) {
      std::memcpy(out, in + (o * view.axis + source) * row, static_cast<size_t>(row));
      out += row;
    }
  }
  return result;
}

Tensor pad(const OpCall& call) {
  const auto& pad = call.as<PadAttributes>();
  if (pad.mode == PadMode::kConstant) return pad_with_value(call);
  Tensor result = call.operand(0);
  for (size_t axis = 0; axis < pad.low.size(); ++axis) {
    const int64_t extent = result.extents()[axis];
    if (call.result_extents[axis] == extent) continue;
    std::vector<int64_t> sources;
    for (int64_t i = 0; i < call.result_extents[axis]; ++i) {
      sources.push_back(padded_source(pad.mode, i - pad.low[axis].constant(), extent));
    }
    result = take(result, static_cast<int>(axis), sources);
  }
  return result;
}

Tensor concat(const OpCall& call) {
  Tensor result(call.operand(0).dtype(), call.result_extents);
  const int axis = call.as<AxisAttributes>().axis;
  const AxisView whole = view_along(call.result_extents, axis);
  const int64_t element = size_bytes(result.dtype());
  std::byte* out = result.mutable_bytes().data();
  for (const Tensor& operand : call.operands) {
    const AxisView part = view_along(operand.extents(), axis);
    const int64_t row = part.axis * part.inner * element;
    if (operand.byte_count() == 0) continue;
    for (int64_t o = 0; o < part.outer; ++o) {
      std::memcpy(out + o * whole.axis * whole.inner * element, operand.bytes().data() + o * row,
                  static_cast<size_t>(row));
    }
    out += row;
  }
  return result;
}

}  // namespace

Tensor evaluate_movement(const OpCall& call) {
  if (call.op == Op::k_reshape) return call.operand(0).reshaped(call.result_extents);
  if (call.op == Op::k_broadcast) return broadcast(call);
  if (call.op == Op::k_transpose) return transpose(call);
  if (call.op == Op::k_slice) return slice(call);
  if (call.op == Op::k_reverse) return reverse(call);
  if (call.op == Op::k_pad) return pad(call);
  return concat(call);
}

}  // namespace stitch
