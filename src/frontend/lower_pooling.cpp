// MaxPool, AveragePool, LpPool, their global forms, MaxUnpool.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "frontend/widened.h"
#include "frontend/window_geometry.h"
#include "graph/error.h"

namespace stitch {
namespace {

struct Pool {
  std::vector<int64_t> spatial;
  WindowGeometry window;          // with `high` adjusted to the windows that exist
  std::vector<int64_t> pad_high;  // as the node asks for, before ceil_mode
  std::vector<int64_t> out;
};

// out = floor or ceil((extent + pads - window) / stride) + 1. With ceil_mode the last window may
// reach past the padded end, but one that would start there is dropped.
Pool pool_of(NodeContext& n) {
  Pool pool;
  const std::vector<int64_t> extents = constant_extents(n.shape(0));
  if (extents.size() < 3) throw ModelError(fmt::format("input 0 has rank {}", extents.size()));
  pool.spatial.assign(extents.begin() + 2, extents.end());
  const std::vector<int64_t> kernel = n.integers("kernel_shape");
  if (kernel.size() != pool.spatial.size()) {
    throw ModelError(fmt::format("kernel_shape has {} entries for {} spatial axes", kernel.size(),
                                 pool.spatial.size()));
  }
  pool.window = window_geometry(n, pool.spatial, kernel);
  pool.pad_high = pool.window.high;
  const std::string auto_pad = n.text("auto_pad", "NOTSET");
  const bool ceil_mode = n.integer("ceil_mode", 0) != 0 && !auto_pad.starts_with("SAME");
  for (size_t i = 0; i < pool.spatial.size(); ++i) {
    WindowGeometry& w = pool.window;
    const int64_t padded = pool.spatial[i] + w.low[i] + w.high[i];
    const int64_t room = padded - window_extent(w, i);
    if (room < 0 && !(ceil_mode && room > -w.strides[i])) {
      throw ModelError(
          fmt::format("a window of {} on a padded extent of {}", window_extent(w, i), padded));
    }
    int64_t out = (room >= 0 ? room / w.strides[i] : -1) + 1;
    if (ceil_mode) {
      out = (room + w.strides[i] - 1) / w.strides[i] + 1;
      if ((out - 1) * w.strides[i] >= pool.spatial[i] + w.low[i]) --out;
    }
    pool.out.push_back(out);
    // Exactly as much padding as the last window needs; less than asked crops nothing but padding.
    w.high[i] = std::max<int64_t>(
        0, (out - 1) * w.strides[i] + window_extent(w, i) - pool.spatial[i] - w.low[i]);
  }
  return pool;
}

WindowAttributes window_attributes(const WindowGeometry& w, ReduceKind kind) {
  return {.kind = kind,
          .kernel = w.kernel,
          .strides = w.strides,
          .dilations = w.dilations,
          .low = w.low,
          .high = w.high};
}

void lower_max_pool(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const Pool pool = pool_of(n);
  const ValueId x = n.input(0);
  const WindowAttributes window = window_attributes(pool.window, ReduceKind::kMax);
  n.output(0, b.node(Op::k_reduce_window, {x}, window));
  if (!n.wants_output(1)) return;
  // Positions in the plane, moved to positions in the whole tensor: + plane * (n * C + c).
  ValueId index = b.node(Op::k_argwindow, {x}, window);
  const Shape shape = b.shape(index);
  const size_t rank = shape.size();
  int64_t plane = 1;
  for (const int64_t extent : pool.spatial) plane *= extent;
  if (n.integer("storage_order", 0) != 0 && rank > 3) {  // column-major within the plane
    ValueId rest = index;
    ValueId column_major = b.scalar_integer(DType::kI64, 0);
    int64_t row_stride = plane;
    int64_t column_stride = 1;
    for (const int64_t extent : pool.spatial) {
      row_stride /= extent;
      const ValueId stride = b.scalar_integer(DType::kI64, row_stride);
      const ValueId coordinate = b.div(rest, stride);
      rest = b.binary(Op::k_rem, rest, stride);
      column_major =
          b.add(b.mul(coordinate, b.scalar_integer(DType::kI64, column_stride)), column_major);
      column_stride *= extent;
    }
    index = column_major;
  }
  const ValueId channels = b.scalar_integer(DType::kI64, shape[1].constant());
  const ValueId image = b.mul(b.iota(DType::kI64, shape, 0), channels);
  const ValueId which = b.add(image, b.iota(DType::kI64, shape, 1));
  n.output(1, b.add(b.mul(which, b.scalar_integer(DType::kI64, plane)), index));
}

// How many cells of each window count, as a product over the axes: [n, c, out...] by broadcasting.
ValueId counted_cells(PrimitiveBuilder& b, const Pool& pool, bool count_padding,
                      const Shape& result, DType dtype) {
  std::optional<ValueId> cells;
  double constant = 1;
  for (size_t i = 0; i < pool.spatial.size(); ++i) {
    const WindowGeometry& w = pool.window;
    const int64_t begin = count_padding ? -w.low[i] : 0;
    const int64_t end = pool.spatial[i] + (count_padding ? pool.pad_high[i] : 0);
    Tensor counts(dtype, {pool.out[i]});
    bool same = true;
    for (int64_t o = 0; o < pool.out[i]; ++o) {
      int64_t count = 0;
      for (int64_t k = 0; k < w.kernel[i]; ++k) {
        const int64_t at = o * w.strides[i] - w.low[i] + k * w.dilations[i];
        count += at >= begin && at < end ? 1 : 0;
      }
      counts.set_real(o, static_cast<double>(count));
      same = same && counts.real(o) == counts.real(0);
    }
    if (same && pool.out[i] > 0) {
      constant *= counts.real(0);
      continue;
    }
    const ValueId spread = b.broadcast_axes(b.constant(counts), result, {static_cast<int>(i) + 2});
    cells = cells ? b.mul(*cells, spread) : spread;
  }
  const ValueId scale = b.filled(dtype, constant, result);
  if (!cells) return scale;
  return constant == 1 ? *cells : b.mul(*cells, scale);
}

void lower_average_pool(NodeContext& n) {
  const Pool pool = pool_of(n);
  PrimitiveBuilder& b = n.builder();
  const bool count_padding = n.integer("count_include_pad", 0) != 0;
  n.output(0, widened(b, n.input(0), [&](ValueId x) {
             const ValueId sum =
                 b.node(Op::k_reduce_window, {x}, window_attributes(pool.window, ReduceKind::kSum));
             return b.div(sum, counted_cells(b, pool, count_padding, b.shape(sum), b.dtype(sum)));
           }));
}

ValueId power(PrimitiveBuilder& b, ValueId x, double exponent) {
  if (exponent == 1) return x;
  if (exponent == 2) return b.mul(x, x);
  if (exponent == 0.5) return b.unary(Op::k_sqrt, x);
  return b.binary(Op::k_pow, x, exponent);
}

void lower_lp_pool(NodeContext& n) {  // (sum of |x|^p over the window)^(1/p)
  const Pool pool = pool_of(n);
  PrimitiveBuilder& b = n.builder();
  const double p = n.number("p", 2);
  n.output(0, widened(b, n.input(0), [&](ValueId x) {
             const ValueId terms = power(b, b.unary(Op::k_abs, x), p);
             const ValueId sum = b.node(Op::k_reduce_window, {terms},
                                        window_attributes(pool.window, ReduceKind::kSum));
             return power(b, sum, 1 / p);
           }));
}

std::vector<int> spatial_axes(NodeContext& n) {
  if (n.rank(0) < 3) throw ModelError(fmt::format("input 0 has rank {}", n.rank(0)));
  std::vector<int> axes(n.rank(0) - 2);
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

void lower_global_average_pool(NodeContext& n) {
  const auto axes = spatial_axes(n);
  n.output(0, widened(n.builder(), n.input(0),
                      [&](ValueId x) { return n.builder().mean(x, axes, true); }));
}

void lower_global_max_pool(NodeContext& n) {
  n.output(0, n.builder().reduce(ReduceKind::kMax, n.input(0), spatial_axes(n), true));
}

void lower_global_lp_pool(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const auto axes = spatial_axes(n);
  const double p = n.number("p", 2);
  n.output(0, widened(b, n.input(0), [&](ValueId x) {
             const ValueId terms = power(b, b.unary(Op::k_abs, x), p);
             return power(b, b.reduce(ReduceKind::kSum, terms, axes, true), 1 / p);
           }));
}

// Values go to their indices in a tensor of zeros. Indices count over the tensor that pooling saw;
// with output_shape the coordinates stay and the tensor is larger.
void lower_max_unpool(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const std::vector<int64_t> in = constant_extents(n.shape(0));
  if (in.size() < 3) throw ModelError(fmt::format("input 0 has rank {}", in.size()));
  const size_t count = in.size() - 2;
  const std::vector<int64_t> kernel = n.integers("kernel_shape");
  if (kernel.size() != count) {
    throw ModelError(
        fmt::format("kernel_shape has {} entries for {} spatial axes", kernel.size(), count));
  }
  const std::vector<int64_t> strides = spatial_attribute(n, "strides", count, 1);
  const std::vector<int64_t> pads = spatial_attribute(n, "pads", 2 * count, 0);
  std::vector<int64_t> seen = {in[0], in[1]};
  for (size_t i = 0; i < count; ++i) {
    seen.push_back((in[i + 2] - 1) * strides[i] - pads[i] - pads[count + i] + kernel[i]);
  }
  const Shape pooled(seen.begin(), seen.end());
  const Dim total = element_count(pooled);
  const Dim cells = element_count(n.shape(0));
  const ValueId zeros = b.filled(n.dtype(0), 0, {total});
  const ValueId index = b.reshape(n.input(1), {cells});
  const ValueId values = b.reshape(n.input(0), {cells});
  const ValueId flat = b.node(Op::k_scatter_elements, {zeros, index, values}, ScatterAttributes{});
  ValueId result = b.reshape(flat, pooled);
  if (n.has_input(2)) {
    const std::vector<int64_t> wanted = n.known_integers(2);
    if (wanted.size() != seen.size()) {
      throw ModelError(
          fmt::format("output shape of {} axes, expected {}", wanted.size(), seen.size()));
    }
    PadAttributes extension;
    for (size_t i = 0; i < seen.size(); ++i) {
      if (wanted[i] < seen[i]) throw ModelError("the output shape is smaller than what was pooled");
      extension.low.emplace_back(0);
      extension.high.emplace_back(wanted[i] - seen[i]);
    }
    result = b.pad(result, b.scalar(n.dtype(0), 0), extension);
  }
  n.output(0, result);
}

constexpr OperatorRow kRows[] = {
    {"AveragePool", 1, lower_average_pool},
    {"GlobalAveragePool", 1, lower_global_average_pool},
    {"GlobalLpPool", 2, lower_global_lp_pool},
    {"GlobalMaxPool", 1, lower_global_max_pool},
    {"LpPool", 2, lower_lp_pool},
    {"MaxPool", 1, lower_max_pool},
    {"MaxUnpool", 9, lower_max_unpool},
};

}  // namespace

std::span<const OperatorRow> pooling_operators() { return kRows; }

}  // namespace stitch
