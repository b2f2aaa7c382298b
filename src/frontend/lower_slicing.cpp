// Slice and Pad.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "graph/error.h"

namespace stitch {
namespace {

bool is_negative(const Dim& d) { return d.is_constant() && d.constant() < 0; }

// A bound as ONNX writes it, clamped to [low, high]; negative ones count from the end. Symbolic
// bounds are taken to be at least 0.
Dim clamped_bound(const Dim& bound, const Dim& extent, const Dim& low, const Dim& high) {
  constexpr int64_t kOpenEnd = std::numeric_limits<int32_t>::max();
  if (bound.is_constant() && bound.constant() >= kOpenEnd) return high;
  const Dim from_start = is_negative(bound) ? bound + extent : bound;
  return max(min(from_start, high), low);
}

struct AxisSlice {
  Dim start;
  Dim limit;
  int64_t step = 1;  // > 0
  bool reversed = false;
};

// Downwards slices are upwards ones read backwards: 9 to 2 by -3 visits 9, 6, 3, which is 3 to 10
// by 3, reversed.
AxisSlice axis_slice(const Dim& extent, const Dim& start, const Dim& end, int64_t step) {
  if (step == 0) throw ModelError("a step is 0");
  if (step > 0) {
    const Dim from = clamped_bound(start, extent, Dim(0), extent);
    const Dim to = clamped_bound(end, extent, Dim(0), extent);
    return {from, max(from, to), step, false};
  }
  const Dim last = extent - Dim(1);
  const Dim from = clamped_bound(start, extent, Dim(0), last);
  const Dim to = clamped_bound(end, extent, Dim(-1), last);
  const int64_t stride =
      step == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max() : -step;
  if (extent == Dim(0)) return {Dim(0), Dim(0), 1, false};
  // count = ceil((from - to) / stride), at least 0
  const Dim count = max(floordiv(from - to + Dim(stride - 1), Dim(stride)), Dim(0));
  if (count == Dim(0)) return {Dim(0), Dim(0), 1, false};
  return {from - (count - Dim(1)) * Dim(stride), from + Dim(1), stride, true};
}

ValueId slice_along(NodeContext& n, const std::vector<Dim>& starts, const std::vector<Dim>& ends,
                    std::vector<int64_t> axes, std::vector<int64_t> steps) {
  PrimitiveBuilder& b = n.builder();
  const ValueId x = n.input(0);
  const Shape extents = b.shape(x);
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    throw ModelError(fmt::format("{} starts, {} ends, {} axes and {} steps", starts.size(),
                                 ends.size(), axes.size(), steps.size()));
  }
  normalise_axes(axes, extents.size());  // none may repeat
  SliceAttributes bounds;
  bounds.starts.assign(extents.size(), Dim(0));
  bounds.limits = extents;
  bounds.steps.assign(extents.size(), 1);
  std::vector<int> reversed;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int axis = normalise_axis(axes[i], extents.size());
    const auto at = static_cast<size_t>(axis);
    const AxisSlice slice = axis_slice(extents[at], starts[i], ends[i], steps[i]);
    bounds.starts[at] = slice.start;
    bounds.limits[at] = slice.limit;
    bounds.steps[at] = slice.step;
    if (slice.reversed) reversed.push_back(axis);
  }
  std::sort(reversed.begin(), reversed.end());
  return b.reverse(b.slice(x, std::move(bounds)), std::move(reversed));
}

void lower_slice_by_attributes(NodeContext& n) {
  const auto starts = n.integers("starts");
  const auto ends = n.integers("ends");
  n.output(0, slice_along(n, {starts.begin(), starts.end()}, {ends.begin(), ends.end()},
                          n.integers("axes"), {}));
}

void lower_slice(NodeContext& n) {
  n.output(0, slice_along(n, n.known_dims(1), n.known_dims(2),
                          n.has_input(3) ? n.known_integers(3) : std::vector<int64_t>{},
                          n.has_input(4) ? n.known_integers(4) : std::vector<int64_t>{}));
}

PadMode pad_mode(const std::string& mode) {
  if (mode == "constant") return PadMode::kConstant;
  if (mode == "edge") return PadMode::kEdge;
  if (mode == "reflect") return PadMode::kReflect;
  if (mode == "wrap") return PadMode::kWrap;
  throw ModelError(fmt::format("mode '{}' is not constant, edge, reflect or wrap", mode));
}

// Negative amounts crop first; then the rest is added.
ValueId pad(NodeContext& n, const std::vector<Dim>& pads, const std::vector<int64_t>& given_axes,
            ValueId fill) {
  PrimitiveBuilder& b = n.builder();
  const ValueId x = n.input(0);
  const Shape extents = b.shape(x);
  std::vector<int64_t> axes = given_axes;
  if (axes.empty()) {
    axes.resize(extents.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  normalise_axes(axes, extents.size());
  if (pads.size() != 2 * axes.size()) {
    throw ModelError(fmt::format("{} pads for {} axes", pads.size(), axes.size()));
  }
  SliceAttributes crop;
  crop.starts.assign(extents.size(), Dim(0));
  crop.limits = extents;
  crop.steps.assign(extents.size(), 1);
  PadAttributes added;
  added.mode = pad_mode(n.text("mode", "constant"));
  added.low.assign(extents.size(), Dim(0));
  added.high.assign(extents.size(), Dim(0));
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto at = static_cast<size_t>(normalise_axis(axes[i], extents.size()));
    const Dim low = pads[i];
    const Dim high = pads[i + axes.size()];
    if (is_negative(low)) {
      crop.starts[at] = min(Dim(0) - low, extents[at]);
    } else {
      added.low[at] = low;
    }
    if (is_negative(high)) {
      crop.limits[at] = max(extents[at] + high, crop.starts[at]);
    } else {
      added.high[at] = high;
    }
  }
  return b.pad(b.slice(x, std::move(crop)), fill, std::move(added));
}

void lower_pad_by_attributes(NodeContext& n) {
  const auto pads = n.integers("pads");
  const ValueId fill = n.builder().scalar(n.dtype(0), n.number("value", 0.0));
  n.output(0, pad(n, {pads.begin(), pads.end()}, {}, fill));
}

void lower_pad(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const ValueId fill = n.has_input(2) ? b.reshape(n.input(2), {}) : b.scalar(n.dtype(0), 0.0);
  n.output(0, pad(n, n.known_dims(1), n.has_input(3) ? n.known_integers(3) : std::vector<int64_t>{},
                  fill));
}

constexpr OperatorRow kRows[] = {
    {"Pad", 2, lower_pad_by_attributes},
    {"Pad", 11, lower_pad},
    {"Pad", 1, lower_pad, "com.microsoft"},
    {"Slice", 1, lower_slice_by_attributes},
    {"Slice", 10, lower_slice},
};

}  // namespace

std::span<const OperatorRow> slicing_operators() { return kRows; }

}  // namespace stitch
