// A figure of a device with where it comes from.
#pragma once
#include <cstdint>
#include <string_view>

namespace stitch {

enum class Origin : uint8_t {
  kMeasured,    // by `stitchc calibrate`, on the device
  kLiterature,  // a data sheet, a guide or a paper
  kAssumed,     // by neither: uncalibrated
};
std::string_view name(Origin origin);

struct Source {
  Origin origin = Origin::kAssumed;
  std::string_view text;
};

// Reads as its value.
struct Figure {
  double value = 0;
  Source source;
  constexpr operator double() const { return value; }
};

}  // namespace stitch
