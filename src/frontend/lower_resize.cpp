// Resize and Upsample: one axis after another, each a weighted sum of gathered taps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "frontend/resize_taps.h"
#include "graph/error.h"

namespace stitch {
namespace {

// The factor k when indices are 0,0,..,1,1,.. with each repeated k times; 0 otherwise.
int64_t repetition(const std::vector<int64_t>& indices, int64_t extent) {
  const auto count = static_cast<int64_t>(indices.size());
  if (extent == 0 || count % extent != 0) return 0;
  const int64_t factor = count / extent;
  for (int64_t i = 0; i < count; ++i) {
    if (indices[static_cast<size_t>(i)] != i / factor) return 0;
  }
  return factor;
}

// x[..., indices, ...] along an axis; a repetition is a broadcast, which is only index arithmetic.
ValueId take(PrimitiveBuilder& b, ValueId x, int axis, const std::vector<int64_t>& indices) {
  const int64_t factor = repetition(indices, b.dim(x, axis).constant());
  if (factor == 1) return x;
  if (factor == 0) {
    return b.gather(x, b.constant(Tensor::of_integers(DType::kI64, indices)), axis);
  }
  Shape merged = b.shape(x);
  Shape repeated = merged;
  repeated.insert(repeated.begin() + axis + 1, Dim(factor));
  std::vector<int> axes(merged.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i] = static_cast<int>(i) + (static_cast<int>(i) > axis ? 1 : 0);
  }
  merged[static_cast<size_t>(axis)] = merged[static_cast<size_t>(axis)] * Dim(factor);
  return b.reshape(b.broadcast_axes(x, repeated, axes), merged);
}

Tensor weight_tensor(const std::vector<float>& weights) {
  Tensor tensor(DType::kF32, {static_cast<int64_t>(weights.size())});
  for (size_t i = 0; i < weights.size(); ++i) {
    tensor.set_real(static_cast<int64_t>(i), static_cast<double>(weights[i]));
  }
  return tensor;
}

ValueId resize_axis(PrimitiveBuilder& b, ValueId x, int axis, const ResizeTaps& taps) {
  if (taps.weights.empty()) return take(b, x, axis, taps.indices.front());
  std::optional<ValueId> sum;
  for (size_t k = 0; k < taps.indices.size(); ++k) {
    const std::vector<float>& weights = taps.weights[k];
    if (std::all_of(weights.begin(), weights.end(), [](float w) { return w == 0; })) continue;
    const ValueId tap = take(b, x, axis, taps.indices[k]);
    const ValueId weight = b.cast(b.constant(weight_tensor(weights)), b.dtype(x));
    const ValueId term = b.mul(tap, b.broadcast_axes(weight, b.shape(tap), {axis}));
    sum = sum ? b.add(*sum, term) : term;
  }
  return *sum;
}

ResizeMode resize_mode(const std::string& mode) {
  if (mode == "nearest") return ResizeMode::kNearest;
  if (mode == "linear" || mode == "bilinear") return ResizeMode::kLinear;
  if (mode == "cubic") return ResizeMode::kCubic;
  throw ModelError(fmt::format("mode '{}' is not nearest, linear or cubic", mode));
}

// The axes that are resized, and how; an axis of the rank each.
std::vector<ResizedAxis> scaled_axes(const Shape& shape, const std::vector<double>& scales) {
  std::vector<ResizedAxis> axes(shape.size());
  if (scales.size() != shape.size()) {
    throw ModelError(fmt::format("{} scales for rank {}", scales.size(), shape.size()));
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t in = shape[i].constant();
    if (!(scales[i] > 0) || scales[i] > 1e6) {
      throw ModelError(fmt::format("a scale is {}", scales[i]));
    }
    const auto scale = static_cast<float>(scales[i]);
    const double out = std::floor(static_cast<double>(static_cast<float>(in) * scale));
    axes[i] = {.in = in, .out = static_cast<int64_t>(out), .scale = scale};
  }
  return axes;
}

ValueId resize(NodeContext& n, const std::vector<ResizedAxis>& axes, const ResizeRule& rule,
               double extrapolation) {
  PrimitiveBuilder& b = n.builder();
  const DType dtype = n.dtype(0);
  const bool weighted = rule.mode != ResizeMode::kNearest;
  const DType compute = !weighted ? dtype : is_float(dtype) ? compute_type(dtype) : DType::kF32;
  ValueId x = b.cast(n.input(0), compute);
  std::vector<std::pair<int, std::vector<char>>> outside;
  for (size_t i = 0; i < axes.size(); ++i) {
    const ResizedAxis& axis = axes[i];
    const bool cropped =
        rule.coordinates == "tf_crop_and_resize" && (axis.roi_start != 0 || axis.roi_end != 1);
    if (axis.in == axis.out && axis.scale == 1 && !cropped) continue;
    if (axis.out > (int64_t{1} << 24)) {
      throw ModelError(fmt::format("an axis is resized to {}", axis.out));
    }
    if (axis.in == 0 && axis.out != 0) throw ModelError("an empty axis cannot be resized");
    const ResizeTaps taps = resize_taps(axis, rule);
    x = resize_axis(b, x, static_cast<int>(i), taps);
    if (std::count(taps.outside.begin(), taps.outside.end(), 1) > 0) {
      outside.emplace_back(static_cast<int>(i), taps.outside);
    }
  }
  for (const auto& [axis, flags] : outside) {
    Tensor mask(DType::kBool, {static_cast<int64_t>(flags.size())});
    for (size_t i = 0; i < flags.size(); ++i) mask.set_integer(static_cast<int64_t>(i), flags[i]);
    const ValueId spread = b.broadcast_axes(b.constant(mask), b.shape(x), {axis});
    x = b.select(spread, b.scalar(compute, extrapolation), x);
  }
  if (weighted && !is_float(dtype)) x = b.unary(Op::k_round, x);
  return b.cast(x, dtype);
}

void lower_upsample_rule(NodeContext& n, const std::vector<double>& scales) {
  ResizeRule rule;
  rule.mode = resize_mode(n.text("mode", "nearest"));
  rule.coordinates = "asymmetric";
  rule.nearest = "floor";
  n.output(0, resize(n, scaled_axes(n.shape(0), scales), rule, 0));
}

void lower_upsample_by_attribute(NodeContext& n) { lower_upsample_rule(n, n.numbers("scales")); }
void lower_upsample(NodeContext& n) { lower_upsample_rule(n, n.known_numbers(1)); }

// Which axes roi, scales and sizes speak of.
std::vector<int> listed_axes(NodeContext& n) {
  std::vector<int> axes;
  for (const int64_t axis : n.integers("axes")) axes.push_back(normalise_axis(axis, n.rank(0)));
  if (!n.has_attribute("axes")) {
    axes.resize(n.rank(0));
    std::iota(axes.begin(), axes.end(), 0);
  }
  return axes;
}

std::vector<ResizedAxis> axes_by_scales(NodeContext& n, const std::vector<int>& listed) {
  const std::vector<double> given = n.known_numbers(2);
  if (given.size() != listed.size()) {
    throw ModelError(fmt::format("{} scales for {} axes", given.size(), listed.size()));
  }
  std::vector<double> scales(n.rank(0), 1);
  for (size_t i = 0; i < listed.size(); ++i) scales[static_cast<size_t>(listed[i])] = given[i];
  return scaled_axes(n.shape(0), scales);
}

std::vector<ResizedAxis> axes_by_sizes(NodeContext& n, const std::vector<int>& listed) {
  const std::vector<int64_t> sizes = n.known_integers(3);
  if (sizes.size() != listed.size()) {
    throw ModelError(fmt::format("{} sizes for {} axes", sizes.size(), listed.size()));
  }
  const Shape shape = n.shape(0);
  std::vector<ResizedAxis> axes;
  for (const Dim& dim : shape) axes.push_back({.in = dim.constant(), .out = dim.constant()});
  const std::string policy = n.text("keep_aspect_ratio_policy", "stretch");
  float common = policy == "not_larger" ? INFINITY : 0;
  for (size_t i = 0; i < listed.size(); ++i) {
    ResizedAxis& axis = axes[static_cast<size_t>(listed[i])];
    if (sizes[i] < 0) throw ModelError(fmt::format("a size is {}", sizes[i]));
    axis.out = sizes[i];
    axis.scale = static_cast<float>(sizes[i]) / static_cast<float>(axis.in);
    common = policy == "not_larger" ? std::min(common, axis.scale) : std::max(common, axis.scale);
  }
  if (policy == "stretch") return axes;
  if (policy != "not_larger" && policy != "not_smaller") {
    throw ModelError(fmt::format("keep_aspect_ratio_policy '{}' is not known", policy));
  }
  for (const int at : listed) {  // one scale for all axes
    ResizedAxis& axis = axes[static_cast<size_t>(at)];
    axis.scale = common;
    axis.out = static_cast<int64_t>(std::floor(common * static_cast<float>(axis.in) + 0.5f));
  }
  return axes;
}

void lower_resize(NodeContext& n) {
  ResizeRule rule;
  rule.mode = resize_mode(n.text("mode", "nearest"));
  rule.coordinates = n.text("coordinate_transformation_mode", "half_pixel");
  rule.nearest = n.text("nearest_mode", "round_prefer_floor");
  rule.cubic_a = n.number("cubic_coeff_a", -0.75);
  rule.exclude_outside = n.integer("exclude_outside", 0) != 0;
  rule.antialias = n.integer("antialias", 0) != 0;
  const std::vector<int> listed = listed_axes(n);
  const bool has_sizes = n.has_input(3) && !(element_count(n.shape(3)) == Dim(0));
  const bool has_scales = n.has_input(2) && !(element_count(n.shape(2)) == Dim(0));
  if (!has_sizes && !has_scales) throw ModelError("it has neither scales nor sizes");
  std::vector<ResizedAxis> axes = has_sizes ? axes_by_sizes(n, listed) : axes_by_scales(n, listed);
  if (rule.coordinates == "tf_crop_and_resize") {
    const std::vector<double> roi = n.known_numbers(1);  // starts, then ends
    if (roi.size() != 2 * listed.size()) {
      throw ModelError(fmt::format("{} roi values for {} axes", roi.size(), listed.size()));
    }
    for (size_t i = 0; i < listed.size(); ++i) {
      ResizedAxis& axis = axes[static_cast<size_t>(listed[i])];
      axis.roi_start = static_cast<float>(roi[i]);
      axis.roi_end = static_cast<float>(roi[i + listed.size()]);
    }
  }
  n.output(0, resize(n, axes, rule, n.number("extrapolation_value", 0)));
}

constexpr OperatorRow kRows[] = {
    {"Resize", 10, lower_upsample},
    {"Resize", 11, lower_resize},
    {"Upsample", 7, lower_upsample_by_attribute},
    {"Upsample", 9, lower_upsample},
};

}  // namespace

std::span<const OperatorRow> resize_operators() { return kRows; }

}  // namespace stitch
