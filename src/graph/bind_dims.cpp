#include "graph/bind_dims.h"

#include "graph/attribute_fields.h"

namespace stitch {
namespace {

ValueType bound(ValueType type, const DimBindings& bindings) {
  for (Dim& dim : type.shape) dim = dim.bind(bindings);
  return type;
}

Attributes bound(Attributes attributes, const DimBindings& bindings) {
  std::visit(
      [&](auto& fields) {
        visit_fields(fields, [&](const char*, auto& value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::vector<Dim>>) {
            for (Dim& dim : value) dim = dim.bind(bindings);
          }
        });
      },
      attributes);
  return attributes;
}

}  // namespace

Graph bind_dims(const Graph& graph, const DimBindings& bindings) {
  Graph result;
  result.model_name = graph.model_name;
  result.onnx_node_count = graph.onnx_node_count;
  for (size_t i = 0; i < graph.source_count(); ++i) result.add_source(graph.source(SourceId(i)));
  std::vector<ValueId> map(graph.value_count());
  for (const ValueId input : graph.inputs()) {
    map[input.index] =
        result.add_input(graph.value(input).name, bound(graph.type(input), bindings));
  }
  for (size_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(NodeId(i));
    std::vector<ValueId> operands;
    for (const ValueId operand : node.operands) operands.push_back(map[operand.index]);
    const ValueType type = bound(graph.type(node.results[0]), bindings);
    const NodeId id = result.add_node(node.op, std::move(operands),
                                      bound(node.attributes, bindings), node.sources, &type);
    for (size_t r = 0; r < node.results.size(); ++r) {
      map[node.results[r].index] = result.node(id).results[r];
      result.set_name(result.node(id).results[r], graph.value(node.results[r]).name);
    }
  }
  for (const GraphOutput& output : graph.outputs()) {
    result.add_output(output.name, map[output.value.index]);
  }
  return result;
}

}  // namespace stitch
