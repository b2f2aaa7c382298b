// Who needs which value of an access graph.
#pragma once
#include <vector>

#include "planner/access/access_graph.h"

namespace stitch {

// By value, as the graph is when it is asked.
struct ValueUses {
  explicit ValueUses(const AccessGraph& graph)
      : readers(graph.values.size()), is_output(graph.values.size(), false) {
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const AccessValueId source : sources_of(graph, graph.nodes[n])) {
        readers[source.index].push_back(AccessNodeId(n));
      }
    }
    for (const AccessOutput& output : graph.outputs) is_output[output.value.index] = true;
  }

  std::vector<std::vector<AccessNodeId>> readers;  // ascending
  std::vector<bool> is_output;
};

}  // namespace stitch
