// Gathers and scatters. Indices wrap once where negative; then reads clamp and writes outside are
// dropped.
#include <algorithm>
#include <cstring>

#include "graph/elementwise_scalar.h"
#include "graph/op_evaluation.h"
#include "graph/strided_copy.h"

namespace stitch {
namespace {

std::vector<int64_t> indices_of(const Tensor& tensor) {
  std::vector<int64_t> indices(static_cast<size_t>(tensor.element_count()));
  for (size_t i = 0; i < indices.size(); ++i) {
    indices[i] = tensor.integer(static_cast<int64_t>(i));
  }
  return indices;
}

int64_t wrapped(int64_t index, int64_t extent) { return index < 0 ? index + extent : index; }

int64_t clamped(int64_t index, int64_t extent) {
  return std::clamp<int64_t>(wrapped(index, extent), 0, std::max<int64_t>(extent - 1, 0));
}

Tensor gather(const OpCall& call) {
  const Tensor& from = call.operand(0);
  Tensor result(from.dtype(), call.result_extents);
  const AxisView view = view_along(from.extents(), call.as<AxisAttributes>().axis);
  const int64_t row = view.inner * size_bytes(from.dtype());
  if (row == 0 || view.axis == 0) return result;
  std::vector<int64_t> indices = indices_of(call.operand(1));
  for (int64_t& index : indices) index = clamped(index, view.axis);
  std::byte* out = result.mutable_bytes().data();
  for (int64_t o = 0; o < view.outer; ++o) {
    for (const int64_t index : indices) {
      std::memcpy(out, from.bytes().data() + (o * view.axis + index) * row,
                  static_cast<size_t>(row));
      out += row;
    }
  }
  return result;
}

// Calls visit(position, offset) for each element of `extents`: its row-major position and its
// offset in a tensor of `strides` without the contribution of `axis`.
template <class Visit>
void for_each_beside(const std::vector<int64_t>& extents, std::vector<int64_t> strides, int axis,
                     Visit visit) {
  strides[static_cast<size_t>(axis)] = 0;
  int64_t position = 0;
  const StridedView view{extents, strides, 0};
  for_each_row(view, [&](int64_t offset) {
    for (int64_t i = 0; i < extents.back(); ++i) {
      visit(position++, offset + i * strides.back());
    }
  });
}

Tensor gather_elements(const OpCall& call) {
  const Tensor& from = call.operand(0);
  Tensor result(from.dtype(), call.result_extents);
  const int axis = call.as<AxisAttributes>().axis;
  const int64_t extent = from.extents()[static_cast<size_t>(axis)];
  if (from.element_count() == 0) return result;
  const std::vector<int64_t> indices = indices_of(call.operand(1));
  const std::vector<int64_t> strides = row_major_strides(from.extents());
  visit_bits(from.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* in = data<T>(from);
    T* out = mutable_data<T>(result);
    for_each_beside(call.result_extents, strides, axis, [&](int64_t position, int64_t offset) {
      const int64_t index = clamped(indices[static_cast<size_t>(position)], extent);
      out[position] = in[offset + index * strides[static_cast<size_t>(axis)]];
    });
  });
  return result;
}

Tensor gather_nd(const OpCall& call) {
  const Tensor& from = call.operand(0);
  const Tensor& index = call.operand(1);
  Tensor result(from.dtype(), call.result_extents);
  const int batch_dims = call.as<GatherNdAttributes>().batch_dims;
  const auto coordinates = static_cast<size_t>(index.extents().back());
  if (from.element_count() == 0 || result.element_count() == 0) return result;
  const std::vector<int64_t> strides = row_major_strides(from.extents());
  const std::vector<int64_t> indices = indices_of(index);
  int64_t batches = 1;
  for (int i = 0; i < batch_dims; ++i) batches *= from.extents()[static_cast<size_t>(i)];
  int64_t rows = 1;  // index rows a batch
  for (size_t i = static_cast<size_t>(batch_dims); i + 1 < index.extents().size(); ++i) {
    rows *= index.extents()[i];
  }
  const int64_t slice = result.element_count() / (batches * rows);
  const int64_t batch_size = from.element_count() / batches;
  const auto bytes = static_cast<size_t>(slice * size_bytes(from.dtype()));
  std::byte* out = result.mutable_bytes().data();
  for (int64_t row = 0; row < batches * rows; ++row) {
    int64_t offset = row / rows * batch_size;
    for (size_t c = 0; c < coordinates; ++c) {
      const size_t axis = static_cast<size_t>(batch_dims) + c;
      const int64_t i = indices[static_cast<size_t>(row) * coordinates + c];
      offset += clamped(i, from.extents()[axis]) * strides[axis];
    }
    std::memcpy(out, from.bytes().data() + offset * size_bytes(from.dtype()), bytes);
    out += bytes;
  }
  return result;
}

template <class T>
T combine(ScatterKind kind, T old_value, T update) {
  switch (kind) {
    case ScatterKind::kNone:
      return update;
    case ScatterKind::kMin:
      return scalar::min(old_value, update);
    case ScatterKind::kMax:
      return scalar::max(old_value, update);
    case ScatterKind::kAdd:
    case ScatterKind::kMul:
      if constexpr (!std::is_same_v<T, bool>) {
        return kind == ScatterKind::kAdd ? scalar::add(old_value, update)
                                         : scalar::mul(old_value, update);
      }
  }
  throw InternalError("a scatter of bool cannot add or multiply");
}

Tensor scatter_elements(const OpCall& call) {
  const auto& scatter = call.as<ScatterAttributes>();
  Tensor result = call.operand(0);
  const Tensor& updates = call.operand(2);
  const auto axis = static_cast<size_t>(scatter.axis);
  const int64_t extent = result.extents()[axis];
  const std::vector<int64_t> strides = row_major_strides(result.extents());
  const std::vector<int64_t> indices = indices_of(call.operand(1));
  visit_type(result.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    T* out = mutable_data<T>(result);
    const T* in = data<T>(updates);
    for_each_beside(updates.extents(), strides, scatter.axis,
                    [&](int64_t position, int64_t offset) {
                      const int64_t index = wrapped(indices[static_cast<size_t>(position)], extent);
                      if (index < 0 || index >= extent) return;
                      T& target = out[offset + index * strides[axis]];
                      target = combine(scatter.kind, target, in[position]);
                    });
  });
  return result;
}

Tensor scatter_nd(const OpCall& call) {
  const ScatterKind kind = call.as<ScatterAttributes>().kind;
  Tensor result = call.operand(0);
  const Tensor& updates = call.operand(2);
  const auto coordinates = static_cast<size_t>(call.operand(1).extents().back());
  const std::vector<int64_t> strides = row_major_strides(result.extents());
  const std::vector<int64_t> indices = indices_of(call.operand(1));
  int64_t slice = 1;
  for (size_t i = coordinates; i < result.extents().size(); ++i) slice *= result.extents()[i];
  if (slice == 0 || updates.element_count() == 0) return result;
  const int64_t rows = updates.element_count() / slice;
  visit_type(result.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    T* out = mutable_data<T>(result);
    const T* in = data<T>(updates);
    for (int64_t row = 0; row < rows; ++row, in += slice) {
      int64_t offset = 0;
      bool inside = true;
      for (size_t c = 0; c < coordinates; ++c) {
        const int64_t extent = result.extents()[c];
        const int64_t i = wrapped(indices[static_cast<size_t>(row) * coordinates + c], extent);
        inside &= i >= 0 && i < extent;
        offset += i * strides[c];
      }
      if (!inside) continue;
      for (int64_t j = 0; j < slice; ++j) out[offset + j] = combine(kind, out[offset + j], in[j]);
    }
  });
  return result;
}

}  // namespace

Tensor evaluate_indexed(const OpCall& call) {
  if (call.op == Op::k_gather) return gather(call);
  if (call.op == Op::k_gather_elements) return gather_elements(call);
  if (call.op == Op::k_gather_nd) return gather_nd(call);
  if (call.op == Op::k_scatter_elements) return scatter_elements(call);
  return scatter_nd(call);
}

}  // namespace stitch
