#include "frontend/window_geometry.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/node_context.h"
#include "graph/error.h"

namespace stitch {

std::vector<int64_t> spatial_attribute(const NodeContext& n, const char* name, size_t count,
                                       int64_t absent) {
  std::vector<int64_t> values = n.integers(name);
  if (!n.has_attribute(name)) values.assign(count, absent);
  if (values.size() != count) {
    throw ModelError(fmt::format("attribute '{}' has {} entries for {} spatial axes", name,
                                 values.size(), count));
  }
  return values;
}

int64_t window_extent(const WindowGeometry& g, size_t axis) {
  return (g.kernel[axis] - 1) * g.dilations[axis] + 1;
}

WindowGeometry window_geometry(const NodeContext& n, const std::vector<int64_t>& spatial,
                               const std::vector<int64_t>& kernel) {
  const size_t count = spatial.size();
  WindowGeometry g;
  g.kernel = kernel;
  g.strides = spatial_attribute(n, "strides", count, 1);
  g.dilations = spatial_attribute(n, "dilations", count, 1);
  constexpr int64_t kLargest = int64_t{1} << 20;
  for (size_t i = 0; i < count; ++i) {
    if (g.strides[i] < 1 || g.dilations[i] < 1 || g.kernel[i] < 1 || g.strides[i] > kLargest ||
        g.kernel[i] > kLargest || g.dilations[i] > kLargest) {
      throw ModelError(fmt::format("kernel {}, stride {}, dilation {} on spatial axis {}",
                                   g.kernel[i], g.strides[i], g.dilations[i], i));
    }
  }
  const std::vector<int64_t> pads = spatial_attribute(n, "pads", 2 * count, 0);
  for (const int64_t pad : pads) {
    if (pad > kLargest || pad < -kLargest) throw ModelError(fmt::format("a pad of {}", pad));
  }
  const std::string auto_pad = n.text("auto_pad", "NOTSET");
  g.low.assign(count, 0);
  g.high.assign(count, 0);
  if (auto_pad == "VALID") return g;
  for (size_t i = 0; i < count; ++i) {
    if (auto_pad == "NOTSET" || auto_pad.empty()) {
      g.low[i] = pads[i];
      g.high[i] = pads[count + i];
    } else if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      // out = ceil(extent / stride); the odd cell goes to the end for UPPER.
      const int64_t out = (spatial[i] + g.strides[i] - 1) / g.strides[i];
      const int64_t total =
          std::max<int64_t>(0, (out - 1) * g.strides[i] + window_extent(g, i) - spatial[i]);
      g.low[i] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      g.high[i] = total - g.low[i];
    } else {
      throw ModelError(fmt::format("auto_pad is '{}'", auto_pad));
    }
  }
  return g;
}

}  // namespace stitch
