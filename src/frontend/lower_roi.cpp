// RoiAlign: bilinear samples on a grid within each region, averaged or maximised.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "graph/error.h"

namespace stitch {
namespace {

// The samples of all regions along one axis of the image: tensors of shape [regions, samples].
struct AxisSamples {
  std::array<ValueId, 2> index;  // int64: the two taps
  std::array<ValueId, 2> weight;
  ValueId inside;  // bool: at most one pixel beyond the image
};

struct AxisRule {
  ValueId start, end;   // [regions]: in pixels of the image
  int64_t extent = 0;   // of the image
  int64_t bins = 1;     // of the result
  int64_t samples = 1;  // in each bin
  bool at_least_one_pixel = false;
};

AxisSamples axis_samples(PrimitiveBuilder& b, const AxisRule& rule) {
  const DType dtype = b.dtype(rule.start);
  const Shape shape = {b.dim(rule.start, 0), rule.bins * rule.samples};
  ValueId size = b.sub(rule.end, rule.start);
  if (rule.at_least_one_pixel) size = b.binary(Op::k_max, size, 1.0);
  // Sample k of all bins lies at (k + 1/2) / samples of a bin from the start.
  const ValueId step = b.div(size, static_cast<double>(rule.bins * rule.samples));
  const ValueId position = b.add(b.iota(dtype, shape, 1), 0.5);
  const ValueId at = b.add(b.broadcast_axes(rule.start, shape, {0}),
                           b.mul(position, b.broadcast_axes(step, shape, {0})));
  const auto extent = static_cast<double>(rule.extent);
  AxisSamples result;
  result.inside = b.bitwise(BitwiseKind::kAnd, b.compare(CompareKind::kLe, b.scalar(dtype, -1), at),
                            b.compare(CompareKind::kLe, at, extent));
  const ValueId clamped = b.binary(Op::k_min, b.binary(Op::k_max, at, 0.0), extent - 1);
  const ValueId low = b.unary(Op::k_floor, clamped);
  const ValueId high = b.binary(Op::k_min, b.add(low, 1.0), extent - 1);
  const ValueId fraction = b.sub(clamped, low);
  result.index = {b.cast(low, DType::kI64), b.cast(high, DType::kI64)};
  result.weight = {b.sub(1.0, fraction), fraction};
  return result;
}

void lower_roi_align(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const std::string mode = n.text("mode", "avg");
  if (mode != "avg" && mode != "max") {
    throw ModelError(fmt::format("mode '{}' is neither avg nor max", mode));
  }
  const bool half_pixel =
      n.text("coordinate_transformation_mode",
             n.since_version() < 16 ? "output_half_pixel" : "half_pixel") == "half_pixel";
  const int64_t samples = n.integer("sampling_ratio", 0);
  if (samples < 1) {
    throw ModelError("sampling_ratio 0, as many samples as a region is large, is not supported");
  }
  const std::vector<int64_t> image = constant_extents(n.shape(0));
  if (image.size() != 4 || n.rank(1) != 2) throw ModelError("operands of unexpected rank");
  const int64_t height = n.integer("output_height", 1);
  const int64_t width = n.integer("output_width", 1);
  const DType dtype = n.dtype(0);
  const DType compute = compute_type(dtype);
  const double scale = n.number("spatial_scale", 1);
  const ValueId regions = b.cast(n.input(1), compute);
  const auto corner = [&](int64_t i) {  // x1, y1, x2, y2
    const ValueId column = b.drop_axis(b.slice_axis(regions, 1, Dim(i), Dim(i + 1)), 1);
    return b.sub(b.mul(column, scale), half_pixel ? 0.5 : 0.0);
  };
  const AxisSamples y = axis_samples(b, {.start = corner(1),
                                         .end = corner(3),
                                         .extent = image[2],
                                         .bins = height,
                                         .samples = samples,
                                         .at_least_one_pixel = !half_pixel});
  const AxisSamples x = axis_samples(b, {.start = corner(0),
                                         .end = corner(2),
                                         .extent = image[3],
                                         .bins = width,
                                         .samples = samples,
                                         .at_least_one_pixel = !half_pixel});
  // Pixels with their channels: [regions, y, x, channels].
  const Dim count = b.dim(regions, 0);
  const Shape points = {count, height * samples, width * samples};
  const ValueId pixels = b.transpose(b.cast(n.input(0), compute), {0, 2, 3, 1});
  const ValueId which = b.broadcast_axes(b.cast(n.input(2), DType::kI64), points, {0});
  std::optional<ValueId> result;
  for (size_t i = 0; i < 2; ++i) {
    for (size_t j = 0; j < 2; ++j) {
      const ValueId indices = b.concat(
          {b.insert_axis(which, 3), b.insert_axis(b.broadcast_axes(y.index[i], points, {0, 1}), 3),
           b.insert_axis(b.broadcast_axes(x.index[j], points, {0, 2}), 3)},
          3);
      const ValueId taps = b.gather_nd(pixels, indices, 0);
      const ValueId weight = b.mul(b.broadcast_axes(y.weight[i], points, {0, 1}),
                                   b.broadcast_axes(x.weight[j], points, {0, 2}));
      const ValueId term = b.mul(taps, b.spread(weight, b.shape(taps), {3}));
      // The maximum is that of single weighted taps, not of interpolated values.
      result = !result ? term : b.binary(mode == "max" ? Op::k_max : Op::k_add, *result, term);
    }
  }
  const Shape whole = b.shape(*result);
  const ValueId inside = b.bitwise(BitwiseKind::kAnd, b.broadcast_axes(y.inside, points, {0, 1}),
                                   b.broadcast_axes(x.inside, points, {0, 2}));
  const ValueId kept = b.select(b.spread(inside, whole, {3}), *result, b.scalar(compute, 0));
  const ValueId binned = b.reshape(kept, {count, height, samples, width, samples, image[1]});
  const ValueId pooled = mode == "max" ? b.reduce(ReduceKind::kMax, binned, {2, 4}, false)
                                       : b.mean(binned, {2, 4}, false);
  n.output(0, b.cast(b.transpose(pooled, {0, 3, 1, 2}), dtype));
}

constexpr OperatorRow kRows[] = {
    {"RoiAlign", 10, lower_roi_align},
    {"RoiAlign", 16, lower_roi_align},
};

}  // namespace

std::span<const OperatorRow> roi_operators() { return kRows; }

}  // namespace stitch
