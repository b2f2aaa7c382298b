// Executes an access graph on the host, point by point through its reads: what the reads mean.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "graph/tensor.h"
#include "planner/access/access_graph.h"

namespace stitch {

struct AccessRun {
  std::vector<Tensor> outputs;  // in the graph's order
  std::vector<Tensor> values;   // of AccessValueId, row-major whatever the strides are
};
AccessRun run_access(const AccessGraph& graph, const std::map<std::string, Tensor>& inputs);

// The outputs alone. Inputs by name. An index that leaves its source where the guards of
// its piece hold is an InternalError.
std::vector<Tensor> evaluate_access(const AccessGraph& graph,
                                    const std::map<std::string, Tensor>& inputs);

}  // namespace stitch
