// Operators of vision models: Col2Im, CenterCropPad, RoiAlign; and Det, TensorScatter.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "frontend/window_geometry.h"
#include "graph/error.h"

namespace stitch {
namespace {

// Columns [n, c * product(block), windows] added into an image: a sum of padded slices would need
// one node for each cell of the block; one scatter does it.
void lower_col2im(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const std::vector<int64_t> image = n.known_integers(1);
  const std::vector<int64_t> block = n.known_integers(2);
  const size_t count = image.size();
  if (block.size() != count || n.rank(0) != 3) {
    throw ModelError(fmt::format("{} image axes, {} block axes, input of rank {}", count,
                                 block.size(), n.rank(0)));
  }
  const auto strides = spatial_attribute(n, "strides", count, 1);
  const auto dilations = spatial_attribute(n, "dilations", count, 1);
  const auto pads = spatial_attribute(n, "pads", 2 * count, 0);
  int64_t cells = 1, windows = 1, pixels = 1;
  std::vector<int64_t> out;
  for (size_t i = 0; i < count; ++i) {
    const int64_t room = image[i] + pads[i] + pads[count + i] - (block[i] - 1) * dilations[i] - 1;
    if (room < 0 || block[i] < 1) throw ModelError("the block does not fit the image");
    out.push_back(room / strides[i] + 1);
    cells *= block[i];
    windows *= out[i];
    pixels *= image[i];
  }
  const Shape shape = n.shape(0);
  if (!(shape[2] == Dim(windows)) || shape[1].constant() % cells != 0) {
    throw ModelError(fmt::format("columns of shape {}, expected {} windows of {} cells",
                                 to_string(shape), windows, cells));
  }
  // The pixel that each (cell, window) is added to; one past the end, dropped, in the padding.
  Tensor target(DType::kI64, {cells * windows, 1});
  for (int64_t cell = 0; cell < cells; ++cell) {
    for (int64_t window = 0; window < windows; ++window) {
      int64_t cell_left = cell, window_left = window, pixel = 0, scale = 1;
      bool inside = true;
      for (size_t i = count; i-- > 0;) {
        const int64_t at =
            window_left % out[i] * strides[i] - pads[i] + cell_left % block[i] * dilations[i];
        window_left /= out[i];
        cell_left /= block[i];
        inside = inside && at >= 0 && at < image[i];
        pixel += at * scale;
        scale *= image[i];
      }
      target.set_integer(cell * windows + window, inside ? pixel : pixels);
    }
  }
  const Dim channels = floordiv(shape[1], Dim(cells));
  const Dim planes = shape[0] * channels;
  const ValueId columns = b.transpose(b.reshape(n.input(0), {planes, cells * windows}), {1, 0});
  const ValueId zeros = b.filled(n.dtype(0), 0, {pixels, planes});
  const ValueId summed = b.node(Op::k_scatter_nd, {zeros, b.constant(target), columns},
                                ScatterAttributes{.kind = ScatterKind::kAdd});
  Shape result = {shape[0], channels};
  result.insert(result.end(), image.begin(), image.end());
  n.output(0, b.reshape(b.transpose(summed, {1, 0}), result));
}

// Crops or pads each axis around its centre.
void lower_center_crop_pad(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const std::vector<int64_t> wanted = n.known_integers(1);
  std::vector<int64_t> axes = n.integers("axes");
  if (!n.has_attribute("axes")) {
    axes.resize(n.rank(0));
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (axes.size() != wanted.size()) {
    throw ModelError(fmt::format("{} extents for {} axes", wanted.size(), axes.size()));
  }
  ValueId x = n.input(0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = normalise_axis(axes[i], b.rank(x));
    const int64_t in = b.dim(x, axis).constant();
    if (wanted[i] <= in) {
      const int64_t start = (in - wanted[i]) / 2;
      x = b.slice_axis(x, axis, Dim(start), Dim(start + wanted[i]));
    } else {
      PadAttributes pad;
      pad.low.assign(b.rank(x), Dim(0));
      pad.high.assign(b.rank(x), Dim(0));
      const int64_t low = (wanted[i] - in) / 2;
      pad.low[static_cast<size_t>(axis)] = Dim(low);
      pad.high[static_cast<size_t>(axis)] = Dim(wanted[i] - in - low);
      x = b.pad(x, b.scalar(b.dtype(x), 0), pad);
    }
  }
  n.output(0, x);
}

// Determinant by elimination with row exchange, unrolled over the columns.
void lower_det(NodeContext& n) {
  constexpr int64_t kLargest = 64;
  PrimitiveBuilder& b = n.builder();
  const Shape shape = n.shape(0);
  if (shape.size() < 2 || !(shape.back() == shape[shape.size() - 2])) {
    throw ModelError(fmt::format("{} is not square", to_string(shape)));
  }
  const int64_t size = shape.back().constant();
  if (size > kLargest) throw ModelError(fmt::format("matrices of more than {} rows", kLargest));
  const Shape batch(shape.begin(), shape.end() - 2);
  const DType dtype = n.dtype(0);
  const DType compute = compute_type(dtype);
  ValueId m = b.reshape(b.cast(n.input(0), compute), {element_count(batch), size, size});
  ValueId det = b.filled(compute, 1, {element_count(batch)});
  for (int64_t left = size; left > 0; --left) {
    const Shape now = b.shape(m);
    const ValueId column = b.drop_axis(b.slice_axis(m, 2, Dim(0), Dim(1)), 2);  // [batch, left]
    const ValueId pivot =
        b.node(Op::k_argreduce, {b.unary(Op::k_abs, column)}, ArgReduceAttributes{.axis = 1});
    const ValueId row = b.iota(DType::kI64, b.shape(column), 1);
    const ValueId is_pivot = b.compare(CompareKind::kEq, row, b.insert_axis(pivot, 1));
    const ValueId pivot_row = b.reduce(
        ReduceKind::kSum, b.select(b.insert_axis(is_pivot, 2), m, b.scalar(compute, 0)), {1}, true);
    const ValueId value = b.reshape(b.slice_axis(pivot_row, 2, Dim(0), Dim(1)), {now[0]});
    const ValueId exchanged = b.unary(Op::k_not, b.compare(CompareKind::kEq, pivot, 0.0));
    const ValueId factor = b.select(exchanged, b.unary(Op::k_neg, value), value);
    det = b.mul(det, factor);
    if (left == 1) break;
    // The first row takes the pivot's place; all rows but the first are eliminated.
    const ValueId first = b.slice_axis(m, 1, Dim(0), Dim(1));
    const ValueId swapped = b.select(b.insert_axis(is_pivot, 2), first, m);
    const ValueId rest = b.slice_axis(swapped, 1, Dim(1), Dim(left));
    const ValueId heads = b.slice_axis(rest, 2, Dim(0), Dim(1));
    const ValueId pivot_value = b.reshape(value, {now[0], 1, 1});
    // A column of zeros has determinant 0 already: keep 0 / 0 out.
    const ValueId safe =
        b.select(b.compare(CompareKind::kEq, pivot_value, 0.0), b.scalar(compute, 1), pivot_value);
    const ValueId reduced = b.sub(rest, b.mul(b.div(heads, safe), pivot_row));
    m = b.slice_axis(reduced, 2, Dim(1), Dim(left));
  }
  n.output(0, b.cast(b.reshape(det, batch), dtype));
}

// Rows of the update go to write_indices[batch] + t of the cache, around its end if circular.
void lower_tensor_scatter(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const Shape cache = n.shape(0);
  const Shape update = n.shape(1);
  const int axis = normalise_axis(n.integer("axis", -2), cache.size());
  if (axis == 0) throw ModelError("axis 0 is the batch");
  const std::string mode = n.text("mode", "linear");
  if (mode != "linear" && mode != "circular") {
    throw ModelError(fmt::format("mode '{}' is neither linear nor circular", mode));
  }
  ValueId position = b.iota(DType::kI64, update, axis);
  if (n.has_input(2)) {
    position = b.add(position, b.broadcast_axes(b.cast(n.input(2), DType::kI64), update, {0}));
  }
  if (mode == "circular") {
    const int64_t length = cache[static_cast<size_t>(axis)].constant();
    position = b.binary(Op::k_rem, position, b.scalar_integer(DType::kI64, length));
  }
  n.output(0, b.node(Op::k_scatter_elements, {n.input(0), position, n.input(1)},
                     ScatterAttributes{.axis = axis}));
}

constexpr OperatorRow kRows[] = {
    {"CenterCropPad", 18, lower_center_crop_pad},
    {"Col2Im", 18, lower_col2im},
    {"Det", 11, lower_det},
    {"TensorScatter", 24, lower_tensor_scatter},
};

}  // namespace

std::span<const OperatorRow> image_operators() { return kRows; }

}  // namespace stitch
