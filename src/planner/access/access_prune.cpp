#include "planner/access/access_prune.h"

#include <utility>

namespace stitch {

void remove_unread_nodes(AccessGraph& graph) {
  std::vector<bool> needed_values(graph.values.size()), needed_nodes(graph.nodes.size());
  for (const AccessValueId input : graph.inputs) needed_values[input.index] = true;
  for (const AccessOutput& output : graph.outputs) needed_values[output.value.index] = true;
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const AccessNode& node = graph.nodes[n];
    for (const AccessValueId result : node.results) {
      if (needed_values[result.index]) needed_nodes[n] = true;
    }
    if (!needed_nodes[n]) continue;
    for (const AccessValueId result : node.results) needed_values[result.index] = true;
    for (const AccessValueId source : sources_of(graph, node)) needed_values[source.index] = true;
  }

  std::vector<AccessNodeId> new_nodes(graph.nodes.size());
  std::vector<AccessNode> nodes;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!needed_nodes[n]) continue;
    new_nodes[n] = AccessNodeId(nodes.size());
    nodes.push_back(std::move(graph.nodes[n]));
  }
  std::vector<AccessValueId> new_values(graph.values.size());
  std::vector<AccessValue> values;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    if (!needed_values[v]) continue;
    AccessValue& value = graph.values[v];
    new_values[v] = AccessValueId(values.size());
    if (value.producer.valid()) value.producer = new_nodes[value.producer.index];
    values.push_back(std::move(value));
  }
  graph.nodes = std::move(nodes);
  graph.values = std::move(values);

  const auto renumber = [&](AccessValueId& value) {
    if (value.valid()) value = new_values[value.index];
  };
  for (AccessNode& node : graph.nodes) {
    for (Read& read : node.operands) {
      for (Piece& piece : read.pieces) renumber(piece.source);
    }
    for (AccessValueId& result : node.results) renumber(result);
  }
  for (Read& read : graph.reads) {  // an entry that is not used may lose its source
    for (Piece& piece : read.pieces) renumber(piece.source);
  }
  for (AccessValueId& input : graph.inputs) renumber(input);
  for (AccessOutput& output : graph.outputs) renumber(output.value);
  rehash_reads(graph);
}

}  // namespace stitch
