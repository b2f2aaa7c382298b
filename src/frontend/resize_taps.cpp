#include "frontend/resize_taps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "graph/error.h"

namespace stitch {
namespace {

// The coordinate in the source of element i of the result, in float32 as engines compute it.
float source_coordinate(const ResizedAxis& axis, const std::string& rule, int64_t i) {
  const auto at = static_cast<float>(i);
  const auto in = static_cast<float>(axis.in);
  const float length = in * axis.scale;  // a real number; axis.out is it rounded
  const auto out = static_cast<float>(axis.out);
  if (rule == "asymmetric") return at / axis.scale;
  if (rule == "half_pixel") return (at + 0.5f) / axis.scale - 0.5f;
  if (rule == "pytorch_half_pixel") {
    return length > 1 ? (at + 0.5f) / axis.scale - 0.5f : -0.5f;
  }
  if (rule == "half_pixel_symmetric") {
    return in / 2 * (1 - out / length) + (at + 0.5f) / axis.scale - 0.5f;
  }
  if (rule == "align_corners") return length == 1 ? 0 : at * (in - 1) / (length - 1);
  if (rule == "tf_half_pixel_for_nn") return (at + 0.5f) / axis.scale;
  if (rule == "tf_crop_and_resize") {
    const float first = axis.roi_start * (in - 1);
    const float span = (axis.roi_end - axis.roi_start) * (in - 1);
    return length > 1 ? first + at * span / (length - 1) : first + span / 2;
  }
  throw ModelError(fmt::format("coordinate_transformation_mode '{}' is not known", rule));
}

int64_t nearest_index(float x, const std::string& rule) {
  if (rule == "round_prefer_floor") return static_cast<int64_t>(std::ceil(x - 0.5f));
  if (rule == "round_prefer_ceil") return static_cast<int64_t>(std::floor(x + 0.5f));
  if (rule == "floor") return static_cast<int64_t>(std::floor(x));
  if (rule == "ceil") return static_cast<int64_t>(std::ceil(x));
  throw ModelError(fmt::format("nearest_mode '{}' is not known", rule));
}

double linear_weight(double distance) { return std::max(0.0, 1 - std::fabs(distance)); }

double cubic_weight(double distance, double a) {
  const double x = std::fabs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

}  // namespace

ResizeTaps resize_taps(const ResizedAxis& axis, const ResizeRule& rule) {
  const auto count = static_cast<size_t>(axis.out);
  ResizeTaps taps;
  taps.outside.assign(count, 0);
  // The kernel is widened by 1/scale when antialiasing a reduction.
  const double widening = rule.antialias && axis.scale < 1 ? axis.scale : 1;
  const double reach = (rule.mode == ResizeMode::kCubic ? 2 : 1) / widening;
  const auto first = static_cast<int64_t>(std::floor(-reach)) + 1;
  const int64_t last = rule.mode == ResizeMode::kNearest ? first : 1 - first;
  const auto tap_count = static_cast<size_t>(last - first + 1);
  taps.indices.assign(tap_count, std::vector<int64_t>(count));
  if (rule.mode != ResizeMode::kNearest) {
    taps.weights.assign(tap_count, std::vector<float>(count));
  }
  for (size_t i = 0; i < count; ++i) {
    const float x = source_coordinate(axis, rule.coordinates, static_cast<int64_t>(i));
    taps.outside[i] =
        rule.coordinates == "tf_crop_and_resize" && (x < 0 || x > static_cast<float>(axis.in - 1));
    const auto clamped = [&](int64_t at) { return std::clamp<int64_t>(at, 0, axis.in - 1); };
    if (rule.mode == ResizeMode::kNearest) {
      taps.indices[0][i] = clamped(nearest_index(x, rule.nearest));
      continue;
    }
    const auto base = static_cast<int64_t>(std::floor(x));
    std::vector<double> weights(tap_count);
    double sum = 0;
    for (size_t k = 0; k < tap_count; ++k) {
      const int64_t at = base + first + static_cast<int64_t>(k);
      const double distance = (static_cast<double>(at) - static_cast<double>(x)) * widening;
      const bool excluded = rule.exclude_outside && (at < 0 || at >= axis.in);
      if (!excluded) {
        weights[k] = rule.mode == ResizeMode::kCubic ? cubic_weight(distance, rule.cubic_a)
                                                     : linear_weight(distance);
      }
      sum += weights[k];
      taps.indices[k][i] = clamped(at);
    }
    const bool normalised = rule.exclude_outside || widening < 1;
    for (size_t k = 0; k < tap_count; ++k) {
      taps.weights[k][i] = static_cast<float>(normalised ? weights[k] / sum : weights[k]);
    }
  }
  return taps;
}

}  // namespace stitch
