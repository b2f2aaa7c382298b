#include "frontend/resize_taps.h"

#include "support/catch.h"

namespace stitch {
namespace {

std::vector<int64_t> nearest(const ResizedAxis& axis, const std::string& coordinates,
                             const std::string& rounding) {
  return resize_taps(axis, {.coordinates = coordinates, .nearest = rounding}).indices[0];
}

}  // namespace

TEST_CASE("doubling by nearest repeats every element") {
  const ResizedAxis axis{.in = 3, .out = 6, .scale = 2};
  const std::vector<int64_t> twice = {0, 0, 1, 1, 2, 2};
  CHECK(nearest(axis, "asymmetric", "floor") == twice);
  CHECK(nearest(axis, "half_pixel", "round_prefer_floor") == twice);
}

TEST_CASE("halves round down or up as asked") {
  const ResizedAxis axis{.in = 4, .out = 2, .scale = 0.5f};  // coordinates 0.5 and 2.5
  CHECK(nearest(axis, "half_pixel", "round_prefer_floor") == std::vector<int64_t>{0, 2});
  CHECK(nearest(axis, "half_pixel", "round_prefer_ceil") == std::vector<int64_t>{1, 3});
}

TEST_CASE("linear taps lie between two elements and repeat the edge") {
  const ResizeTaps taps =
      resize_taps({.in = 2, .out = 4, .scale = 2}, {.mode = ResizeMode::kLinear});
  REQUIRE(taps.indices.size() == 2);
  CHECK(taps.indices[0] == std::vector<int64_t>{0, 0, 0, 1});
  CHECK(taps.indices[1] == std::vector<int64_t>{0, 1, 1, 1});
  CHECK(taps.weights[0] == std::vector<float>{0.25f, 0.75f, 0.25f, 0.75f});
  CHECK(taps.weights[1] == std::vector<float>{0.75f, 0.25f, 0.75f, 0.25f});
}

TEST_CASE("aligned corners keep the first and the last element") {
  const ResizeTaps taps =
      resize_taps({.in = 3, .out = 5, .scale = 5.0f / 3},
                  {.mode = ResizeMode::kLinear, .coordinates = "align_corners"});
  CHECK(taps.indices[0] == std::vector<int64_t>{0, 0, 1, 1, 2});
  CHECK(taps.weights[0] == std::vector<float>{1, 0.5f, 1, 0.5f, 1});
}

TEST_CASE("cubic weights add up to one") {
  const ResizeTaps taps =
      resize_taps({.in = 5, .out = 8, .scale = 1.6f}, {.mode = ResizeMode::kCubic});
  REQUIRE(taps.weights.size() == 4);
  for (size_t i = 0; i < 8; ++i) {
    float sum = 0;
    for (const auto& weights : taps.weights) sum += weights[i];
    CHECK(sum == Approx(1));
  }
}

TEST_CASE("antialiasing widens the kernel of a reduction") {
  const ResizeTaps taps = resize_taps({.in = 8, .out = 4, .scale = 0.5f},
                                      {.mode = ResizeMode::kLinear, .antialias = true});
  REQUIRE(taps.weights.size() == 4);
  CHECK(taps.weights[0][1] == Approx(0.125));
  CHECK(taps.weights[1][1] == Approx(0.375));
}

TEST_CASE("coordinates outside a crop are marked") {
  const ResizeTaps taps = resize_taps({.in = 3, .out = 3, .scale = 1, .roi_start = 0, .roi_end = 2},
                                      {.coordinates = "tf_crop_and_resize"});
  CHECK(taps.outside == std::vector<char>{0, 0, 1});
}

TEST_CASE("unknown rules are named") {
  CHECK_THROWS_WITH(resize_taps({.in = 2, .out = 2}, {.coordinates = "odd"}),
                    "coordinate_transformation_mode 'odd' is not known");
  CHECK_THROWS_WITH(resize_taps({.in = 2, .out = 2}, {.nearest = "odd"}),
                    "nearest_mode 'odd' is not known");
}

}  // namespace stitch
