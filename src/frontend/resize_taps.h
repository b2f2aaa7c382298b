// Where the elements of a resized axis come from: source coordinates, taps and weights
// (operators.md 7.2). Arithmetic only; no graph.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace stitch {

enum class ResizeMode : uint8_t { kNearest, kLinear, kCubic };

struct ResizeRule {
  ResizeMode mode = ResizeMode::kNearest;
  std::string coordinates = "half_pixel";
  std::string nearest = "round_prefer_floor";
  double cubic_a = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
};

struct ResizedAxis {
  int64_t in = 0;
  int64_t out = 0;
  float scale = 1;
  float roi_start = 0;  // tf_crop_and_resize only
  float roi_end = 1;
};

// Element i of the result is the sum over k of weights[k][i] * source[indices[k][i]].
struct ResizeTaps {
  std::vector<std::vector<int64_t>> indices;
  std::vector<std::vector<float>> weights;  // empty for nearest: one tap of weight 1
  std::vector<char> outside;                // where tf_crop_and_resize extrapolates
};

// ModelError for an unknown coordinate or rounding mode.
ResizeTaps resize_taps(const ResizedAxis& axis, const ResizeRule& rule);

}  // namespace stitch
