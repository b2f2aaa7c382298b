// Gives symbols their values throughout a graph.
#pragma once
#include "graph/graph.h"

namespace stitch {

// Types, slices and pads with the symbols replaced; symbols without a binding stay. ModelError
// when the extents do not fit together under these values.
Graph bind_dims(const Graph& graph, const DimBindings& bindings);

}  // namespace stitch
