// Random graphs as models have them: a matrix of some thousand elements or more, row and column
// vectors, chains of element-wise ops, reduces that meet their rows again. For planning only.
#pragma once
#include <cstdint>

#include "graph/graph.h"

namespace stitch {

// f32; `nodes`: arithmetic nodes, about. All values are read or are outputs.
Graph make_workload_graph(uint32_t seed, int nodes);

}  // namespace stitch
