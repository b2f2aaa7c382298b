// The graph of primitives between importer and planner: typed values, nodes in topological order.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/attributes.h"
#include "graph/dim.h"
#include "graph/dtype.h"
#include "graph/ids.h"
#include "graph/op.h"

namespace stitch {

struct ValueType {
  DType dtype = DType::kF32;
  Shape shape;
  friend bool operator==(const ValueType&, const ValueType&) = default;
};
std::string to_string(const ValueType& type);  // "f32[8,128]"

struct Use {
  NodeId node;
  uint32_t operand = 0;
};

struct Value {
  ValueType type;
  std::string name;  // of the ONNX value, "" for values that decomposition made
  NodeId producer;   // none for graph inputs
  uint32_t result = 0;
  std::vector<Use> uses;
};

struct Node {
  Op op = Op::k_constant;
  Attributes attributes;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  std::vector<SourceId> sources;  // the ONNX nodes that it came from
};

// An ONNX node, as messages and comments name it.
struct SourceNode {
  std::string name;  // as in the file; the first output's name where the node has none
  std::string op_type;
};

struct GraphOutput {
  std::string name;
  ValueId value;
};

// Nodes are only appended, operands before uses, so that ids are a topological order. A pass makes
// a new graph (graph_rewriter.h). Graph values are cheap to copy: weights are shared.
class Graph {
 public:
  ValueId add_input(std::string name, ValueType type);
  // The result types are inferred (type_inference.h); ModelError when operands do not fit.
  // For reshape, broadcast, cast, bitcast, iota and philox the type is the caller's to give.
  NodeId add_node(Op op, std::vector<ValueId> operands, Attributes attributes = {},
                  std::vector<SourceId> sources = {}, const ValueType* result_type = nullptr);
  // add_node for ops with one result.
  ValueId add(Op op, std::vector<ValueId> operands, Attributes attributes = {},
              std::vector<SourceId> sources = {}, const ValueType* result_type = nullptr);
  // A node whose result types are known to be those of inference, as when a pass copies it.
  // `node.results` is ignored.
  NodeId add_typed_node(Node node, std::vector<ValueType> result_types);
  ValueId add_constant(Tensor tensor, std::string name = {});
  void add_output(std::string name, ValueId value);
  SourceId add_source(SourceNode source);
  void set_name(ValueId value, std::string name);
  // Those that the node does not have yet.
  void add_node_sources(NodeId node, std::span<const SourceId> sources);

  size_t node_count() const { return nodes_.size(); }
  size_t value_count() const { return values_.size(); }
  const Node& node(NodeId id) const { return nodes_[id.index]; }
  const Value& value(ValueId id) const { return values_[id.index]; }
  const ValueType& type(ValueId id) const { return values_[id.index].type; }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<GraphOutput>& outputs() const { return outputs_; }
  const SourceNode& source(SourceId id) const { return sources_[id.index]; }
  size_t source_count() const { return sources_.size(); }

  // The constant behind a value, or null.
  const Tensor* constant(ValueId id) const;
  // "/encoder/layer.0/Add (Add)", for messages.
  std::string describe(NodeId id) const;

  std::string model_name;
  // ONNX nodes of the model without Constant: the "nodes" of reports.
  int64_t onnx_node_count = 0;

 private:
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<ValueId> inputs_;
  std::vector<GraphOutput> outputs_;
  std::vector<SourceNode> sources_;
};

}  // namespace stitch
