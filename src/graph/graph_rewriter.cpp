#include "graph/graph_rewriter.h"

#include <fmt/format.h>

#include "graph/error.h"

namespace stitch {

GraphRewriter::GraphRewriter(const Graph& from)
    : from_(from), map_(from.value_count()), travelling_(from.value_count()) {
  to_.model_name = from.model_name;
  to_.onnx_node_count = from.onnx_node_count;
  for (size_t i = 0; i < from.source_count(); ++i) to_.add_source(from.source(SourceId(i)));
  for (const ValueId input : from.inputs()) {
    map_[input.index] = to_.add_input(from.value(input).name, from.type(input));
  }
}

ValueId GraphRewriter::map(ValueId old_value) const {
  const ValueId value = map_[old_value.index];
  if (!value.valid()) {
    throw InternalError(fmt::format("a pass uses %{}, which it has dropped", old_value.index));
  }
  return value;
}

std::vector<ValueId> GraphRewriter::map(std::span<const ValueId> old_values) const {
  std::vector<ValueId> values;
  values.reserve(old_values.size());
  for (const ValueId value : old_values) values.push_back(map(value));
  return values;
}

NodeId GraphRewriter::copy(NodeId old_node) {
  const Node& node = from_.node(old_node);
  std::vector<ValueType> types;
  for (const ValueId result : node.results) types.push_back(from_.type(result));
  const NodeId id = to_.add_typed_node({.op = node.op,
                                        .attributes = node.attributes,
                                        .operands = map(node.operands),
                                        .results = {},
                                        .sources = node.sources},
                                       std::move(types));
  for (size_t i = 0; i < node.results.size(); ++i) {
    const ValueId result = to_.node(id).results[i];
    map_[node.results[i].index] = result;
    to_.set_name(result, from_.value(node.results[i]).name);
  }
  pass_on(old_node, id);
  settled_nodes_ = to_.node_count();
  return id;
}

void GraphRewriter::replace(ValueId old_value, ValueId new_value) {
  map_[old_value.index] = new_value;
  const Value& old = from_.value(old_value);
  const Value& replacement = to_.value(new_value);
  const bool fresh = replacement.producer.valid() && replacement.producer.index >= settled_nodes_;
  const bool feeds_one = old.uses.size() == 1;
  const std::vector<SourceId> sources = from_.node(old.producer).sources;
  if (replacement.name.empty() && replacement.producer.valid()) {
    to_.set_name(new_value, old.name);
  }
  if (!fresh && feeds_one) {
    std::vector<SourceId>& onward = travelling_[old_value.index];
    onward = sources;
    for (const ValueId operand : from_.node(old.producer).operands) {
      const std::vector<SourceId>& earlier = travelling_[operand.index];
      onward.insert(onward.end(), earlier.begin(), earlier.end());
    }
  } else if (replacement.producer.valid()) {
    to_.add_node_sources(replacement.producer, sources);
    pass_on(old.producer, replacement.producer);
  }
  settled_nodes_ = to_.node_count();
}

void GraphRewriter::pass_on(NodeId old_node, NodeId new_node) {
  for (const ValueId operand : from_.node(old_node).operands) {
    to_.add_node_sources(new_node, travelling_[operand.index]);
  }
}

Graph GraphRewriter::finish() {
  for (const GraphOutput& output : from_.outputs()) {
    to_.add_output(output.name, map(output.value));
  }
  return std::move(to_);
}

}  // namespace stitch
