#include "graph/evaluate.h"

#include <fmt/format.h>

#include "graph/error.h"
#include "graph/op_evaluation.h"

namespace stitch {
namespace {

std::vector<Tensor> run(const OpCall& call) {
  const OpFacts& op_facts = facts(call.op);
  switch (op_facts.op_class) {
    case OpClass::k_light:
    case OpClass::k_expensive:
      if (call.op == Op::k_compare || call.op == Op::k_select) return {evaluate_choice(call)};
      if (call.op == Op::k_cast || call.op == Op::k_bitcast) return {evaluate_conversion(call)};
      return {op_facts.operands == 1 ? evaluate_unary(call) : evaluate_binary(call)};
    case OpClass::k_generator:
      return {evaluate_generator(call)};
    case OpClass::k_movement:
      return {evaluate_movement(call)};
    case OpClass::k_indexed:
      return {evaluate_indexed(call)};
    case OpClass::k_reduce:
      return {call.op == Op::k_reduce ? evaluate_reduce(call) : evaluate_argreduce(call)};
    case OpClass::k_window:
      return {evaluate_window(call)};
    case OpClass::k_scan:
      if (call.op == Op::k_cumulative) return {evaluate_cumulative(call)};
      return evaluate_top_k(call);
    case OpClass::k_contraction:
      return {call.op == Op::k_matmul ? evaluate_matmul(call) : evaluate_conv(call)};
    case OpClass::k_control:
    case OpClass::k_dynamic:
      throw ModelError(fmt::format("{} is not supported by the evaluator", name(call.op)));
  }
  throw InternalError("an op has no class");
}

// The node's results in working types, rounded to the node's dtype in native precision.
std::vector<Tensor> evaluate_working(const Graph& graph, const Node& node,
                                     std::span<const Tensor> operands,
                                     EvaluationPrecision precision) {
  const ValueType& type = graph.type(node.results[0]);
  OpCall call{.op = node.op,
              .attributes = node.attributes,
              .operands = operands,
              .operand_dtypes = {},
              .result_dtype = type.dtype,
              .result_extents = constant_extents(type.shape),
              .precision = precision};
  for (const ValueId operand : node.operands) {
    call.operand_dtypes.push_back(graph.type(operand).dtype);
  }
  std::vector<Tensor> results = run(call);
  // Movement and gathers only copy values that are rounded already.
  if (precision == EvaluationPrecision::kNative && !is_movement(node.op)) {
    for (size_t i = 0; i < results.size(); ++i) {
      round_to_half(results[i], graph.type(node.results[i]).dtype);
    }
  }
  return results;
}

class Evaluation {
 public:
  Evaluation(const Graph& graph, EvaluationPrecision precision)
      : graph_(graph),
        precision_(precision),
        values_(graph.value_count()),
        uses_left_(graph.value_count()) {
    for (size_t i = 0; i < graph.value_count(); ++i) {
      uses_left_[i] = graph.value(ValueId(i)).uses.size();
    }
    for (const GraphOutput& output : graph.outputs()) ++uses_left_[output.value.index];
  }

  void set_input(ValueId input, const std::map<std::string, Tensor>& given) {
    const Value& value = graph_.value(input);
    if (!is_constant(value.type.shape)) {
      throw ModelError(fmt::format("input \"{}\" is {}, expected constant extents", value.name,
                                   to_string(value.type)));
    }
    const auto found = given.find(value.name);
    if (found == given.end()) {
      throw ModelError(
          fmt::format("input \"{}\" ({}) is missing", value.name, to_string(value.type)));
    }
    const Tensor& tensor = found->second;
    const bool wide = precision_ == EvaluationPrecision::kF64 && is_float(value.type.dtype) &&
                      tensor.dtype() == DType::kF64;
    if ((tensor.dtype() != value.type.dtype && !wide) ||
        tensor.extents() != constant_extents(value.type.shape)) {
      throw ModelError(fmt::format("input \"{}\" is {}, found {}[{}]", value.name,
                                   to_string(value.type), stitch::name(tensor.dtype()),
                                   fmt::join(tensor.extents(), ",")));
    }
    values_[input.index] = to_working(tensor, precision_);
  }

  void run_node(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op == Op::k_constant) return;
    bool used = false;
    for (const ValueId result : node.results) used |= uses_left_[result.index] > 0;
    std::vector<Tensor> operands;
    for (const ValueId operand : node.operands) operands.push_back(take(operand));
    if (!used) return;
    std::vector<Tensor> results;
    try {
      results = evaluate_working(graph_, node, operands, precision_);
    } catch (const ModelError& error) {
      throw ModelError(fmt::format("{}: {}", graph_.describe(id), error.what()));
    }
    for (size_t i = 0; i < results.size(); ++i) {
      values_[node.results[i].index] = std::move(results[i]);
    }
  }

  Tensor output(ValueId value) {
    const DType dtype = graph_.type(value).dtype;
    const bool wide = precision_ == EvaluationPrecision::kF64 && is_float(dtype);
    return to_stored(take(value), wide ? DType::kF64 : dtype);
  }

 private:
  // The value for one of its uses; after the last one it is let go. Constants are widened anew for
  // each use: holding all weights of a model as f64 costs more than converting them.
  Tensor take(ValueId id) {
    if (const Tensor* constant = graph_.constant(id)) return to_working(*constant, precision_);
    if (--uses_left_[id.index] == 0) return std::move(values_[id.index]);
    return values_[id.index];
  }

  const Graph& graph_;
  EvaluationPrecision precision_;
  std::vector<Tensor> values_;
  std::vector<size_t> uses_left_;
};

}  // namespace

std::vector<Tensor> evaluate(const Graph& graph, const std::map<std::string, Tensor>& inputs,
                             EvaluationPrecision precision) {
  Evaluation evaluation(graph, precision);
  for (const ValueId input : graph.inputs()) evaluation.set_input(input, inputs);
  for (size_t i = 0; i < graph.node_count(); ++i) evaluation.run_node(NodeId(i));
  std::vector<Tensor> outputs;
  for (const GraphOutput& output : graph.outputs()) {
    outputs.push_back(evaluation.output(output.value));
  }
  return outputs;
}

std::vector<Tensor> evaluate_node(const Graph& graph, NodeId id,
                                  const std::vector<Tensor>& operands) {
  const Node& node = graph.node(id);
  if (node.op == Op::k_constant) return {attributes_as<ConstantAttributes>(node.attributes).tensor};
  std::vector<Tensor> working;
  for (const Tensor& operand : operands) {
    working.push_back(to_working(operand, EvaluationPrecision::kNative));
  }
  std::vector<Tensor> results =
      evaluate_working(graph, node, working, EvaluationPrecision::kNative);
  for (size_t i = 0; i < results.size(); ++i) {
    results[i] = to_stored(results[i], graph.type(node.results[i]).dtype);
  }
  return results;
}

}  // namespace stitch
