#include "graph/graph_rewriter.h"
#include "graph/passes.h"

namespace stitch {

Graph remove_dead(const Graph& graph) {
  std::vector<bool> live(graph.node_count(), false);
  const auto mark = [&](ValueId value) {
    const NodeId producer = graph.value(value).producer;
    if (producer.valid()) live[producer.index] = true;
  };
  for (const GraphOutput& output : graph.outputs()) mark(output.value);
  for (size_t i = graph.node_count(); i-- > 0;) {
    if (!live[i]) continue;
    for (const ValueId operand : graph.node(NodeId(i)).operands) mark(operand);
  }
  GraphRewriter rewriter(graph);
  for (size_t i = 0; i < graph.node_count(); ++i) {
    if (live[i]) rewriter.copy(NodeId(i));
  }
  return rewriter.finish();
}

}  // namespace stitch
