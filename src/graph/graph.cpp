#include "graph/graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"
#include "graph/type_inference.h"

namespace stitch {

std::string to_string(const ValueType& type) {
  return std::string(name(type.dtype)) + to_string(type.shape);
}

ValueId Graph::add_input(std::string name, ValueType type) {
  const ValueId id(values_.size());
  values_.push_back(
      {.type = std::move(type), .name = std::move(name), .producer = {}, .result = 0, .uses = {}});
  inputs_.push_back(id);
  return id;
}

NodeId Graph::add_node(Op op, std::vector<ValueId> operands, Attributes attributes,
                       std::vector<SourceId> sources, const ValueType* result_type) {
  std::vector<ValueType> types;
  types.reserve(operands.size());
  for (const ValueId operand : operands) {
    if (operand.index >= values_.size()) {
      throw InternalError(fmt::format("a {} node uses a value that does not exist", name(op)));
    }
    types.push_back(type(operand));
  }
  // An op without attributes may be given none where its defaults are meant.
  if (attributes.index() == 0) attributes = default_attributes(op);
  std::vector<ValueType> results = infer_types(op, types, attributes, result_type);

  return add_typed_node({.op = op,
                         .attributes = std::move(attributes),
                         .operands = std::move(operands),
                         .results = {},
                         .sources = std::move(sources)},
                        std::move(results));
}

NodeId Graph::add_typed_node(Node node, std::vector<ValueType> result_types) {
  const NodeId id(nodes_.size());
  for (size_t i = 0; i < node.operands.size(); ++i) {
    values_[node.operands[i].index].uses.push_back({id, static_cast<uint32_t>(i)});
  }
  node.results.clear();
  for (size_t i = 0; i < result_types.size(); ++i) {
    node.results.push_back(ValueId(values_.size()));
    values_.push_back({.type = std::move(result_types[i]),
                       .name = {},
                       .producer = id,
                       .result = static_cast<uint32_t>(i),
                       .uses = {}});
  }
  nodes_.push_back(std::move(node));
  return id;
}

ValueId Graph::add(Op op, std::vector<ValueId> operands, Attributes attributes,
                   std::vector<SourceId> sources, const ValueType* result_type) {
  const NodeId id =
      add_node(op, std::move(operands), std::move(attributes), std::move(sources), result_type);
  if (node(id).results.size() != 1) {
    throw InternalError(fmt::format("a {} node has more than one result", name(op)));
  }
  return node(id).results[0];
}

ValueId Graph::add_constant(Tensor tensor, std::string name) {
  const ValueId id = add(Op::k_constant, {}, ConstantAttributes{std::move(tensor)});
  values_[id.index].name = std::move(name);
  return id;
}

void Graph::add_output(std::string name, ValueId value) {
  if (value.index >= values_.size()) {
    throw InternalError("the output \"" + name + "\" names a value that does not exist");
  }
  outputs_.push_back({std::move(name), value});
}

SourceId Graph::add_source(SourceNode source) {
  sources_.push_back(std::move(source));
  return SourceId(sources_.size() - 1);
}

void Graph::set_name(ValueId value, std::string name) {
  values_[value.index].name = std::move(name);
}

void Graph::add_node_sources(NodeId node, std::span<const SourceId> sources) {
  std::vector<SourceId>& known = nodes_[node.index].sources;
  for (const SourceId source : sources) {
    if (std::find(known.begin(), known.end(), source) == known.end()) known.push_back(source);
  }
}

const Tensor* Graph::constant(ValueId id) const {
  const NodeId producer = value(id).producer;
  if (!producer.valid() || node(producer).op != Op::k_constant) return nullptr;
  return &attributes_as<ConstantAttributes>(node(producer).attributes).tensor;
}

std::string Graph::describe(NodeId id) const {
  const Node& described = node(id);
  if (!described.sources.empty()) {
    const SourceNode& origin = source(described.sources.front());
    return fmt::format("{} ({})", origin.name, origin.op_type);
  }
  for (const ValueId result : described.results) {
    if (!value(result).name.empty()) {
      return fmt::format("{} ({})", value(result).name, name(described.op));
    }
  }
  const uint32_t index = described.results.empty() ? id.index : described.results[0].index;
  return fmt::format("%{} ({})", index, name(described.op));
}

}  // namespace stitch
