// Random graphs of primitives for property tests: small shapes, even and odd; integers held in f64,
// so that sums are exact in any order.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "graph/graph.h"
#include "graph/tensor.h"

namespace stitch {

struct RandomGraph {
  Graph graph;
  std::map<std::string, Tensor> inputs;
};

// `steps`: nodes, about. Every primitive but control flow and nms occurs over enough seeds.
RandomGraph make_random_graph(uint32_t seed, int steps);

}  // namespace stitch
