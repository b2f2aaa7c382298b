// The number of nodes that reports speak of.
#pragma once
#include <cstdint>

#include "frontend/onnx_model.h"

namespace stitch {

// Nodes of the graph, of its subgraphs and of the model's functions; Constant nodes not counted.
int64_t count_nodes(const OnnxModel& model);

}  // namespace stitch
