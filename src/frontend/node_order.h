// The nodes of an ONNX graph that its outputs need, operands before uses.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "frontend/onnx_model.h"

namespace stitch {

struct NodeOrder {
  std::vector<size_t> nodes;    // in the file's order where that is possible
  std::vector<size_t> cycle;    // nodes of one cycle in order of flow; empty when there is none
  std::vector<size_t> repeats;  // nodes that define a name which another node defines already
};

NodeOrder order_nodes(const std::vector<OnnxNode>& nodes, const std::vector<std::string>& wanted);

}  // namespace stitch
