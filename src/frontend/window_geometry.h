// Strides, dilations and padding of convolutions and pooling, from the attributes of a node.
#pragma once
#include <cstdint>
#include <vector>

#include "graph/dim.h"

namespace stitch {

class NodeContext;

struct WindowGeometry {
  std::vector<int64_t> kernel, strides, dilations, low, high;  // one entry per spatial axis
};

// `spatial`: extents of the operand's spatial axes; `kernel`: of the window. Resolves auto_pad.
WindowGeometry window_geometry(const NodeContext& n, const std::vector<int64_t>& spatial,
                               const std::vector<int64_t>& kernel);
// Extent of the window with its gaps: (kernel - 1) * dilation + 1.
int64_t window_extent(const WindowGeometry& g, size_t axis);
// An integer list attribute with one entry per spatial axis, or `absent` for each.
std::vector<int64_t> spatial_attribute(const NodeContext& n, const char* name, size_t count,
                                       int64_t absent);

}  // namespace stitch
