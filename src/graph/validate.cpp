#include "graph/validate.h"

#include <fmt/format.h>

#include <utility>

#include "graph/error.h"
#include "graph/type_inference.h"

namespace stitch {
namespace {

class Validator {
 public:
  explicit Validator(const Graph& graph) : graph_(graph) {}

  void check() {
    check_inputs();
    uses_.resize(graph_.value_count(), 0);
    for (size_t i = 0; i < graph_.node_count(); ++i) check_node(NodeId(i));
    check_values();
    for (const GraphOutput& output : graph_.outputs()) {
      if (output.value.index >= graph_.value_count()) {
        throw InternalError(fmt::format("output \"{}\" names no value", output.name));
      }
    }
  }

 private:
  void check_inputs() {
    for (const ValueId input : graph_.inputs()) {
      if (input.index >= graph_.value_count() || graph_.value(input).producer.valid()) {
        throw InternalError(fmt::format("input %{} is not an input value", input.index));
      }
    }
  }

  void check_node(NodeId id) {
    const Node& node = graph_.node(id);
    std::vector<ValueType> operands;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const ValueId operand = node.operands[i];
      if (operand.index >= graph_.value_count()) broken(id, "an operand is no value");
      const Value& value = graph_.value(operand);
      if (value.producer.valid() && !(value.producer < id)) {
        broken(id, fmt::format("operand %{} is defined later", operand.index));
      }
      ++uses_[operand.index];
      operands.push_back(value.type);
    }
    for (const SourceId source : node.sources) {
      if (source.index >= graph_.source_count()) broken(id, "a source does not exist");
    }
    check_results(id, operands);
  }

  void check_results(NodeId id, const std::vector<ValueType>& operands) {
    const Node& node = graph_.node(id);
    if (node.results.empty()) broken(id, "it has no results");
    std::vector<ValueType> inferred;
    try {
      inferred =
          infer_types(node.op, operands, node.attributes, &graph_.type(node.results.front()));
    } catch (const ModelError& error) {
      broken(id, error.what());
    }
    if (inferred.size() != node.results.size()) broken(id, "it has too few or too many results");
    for (size_t i = 0; i < inferred.size(); ++i) {
      const Value& value = graph_.value(node.results[i]);
      if (value.producer != id || value.result != i) {
        broken(id, fmt::format("result %{} names another producer", node.results[i].index));
      }
      if (!(value.type == inferred[i])) {
        broken(id, fmt::format("result %{} is {}, inferred {}", node.results[i].index,
                               to_string(value.type), to_string(inferred[i])));
      }
    }
  }

  // Every listed use is one, none is listed twice and their count is that of the operands: then
  // every operand is listed.
  void check_values() {
    for (size_t i = 0; i < graph_.value_count(); ++i) {
      const Value& value = graph_.value(ValueId(i));
      for (size_t u = 0; u < value.uses.size(); ++u) {
        const Use& use = value.uses[u];
        const bool exists = use.node.index < graph_.node_count() &&
                            use.operand < graph_.node(use.node).operands.size() &&
                            graph_.node(use.node).operands[use.operand] == ValueId(i);
        const bool in_order =
            u == 0 || std::pair(value.uses[u - 1].node, value.uses[u - 1].operand) <
                          std::pair(use.node, use.operand);
        if (!exists || !in_order) {
          throw InternalError(fmt::format("value %{} lists a use that is none", i));
        }
      }
      if (value.uses.size() != uses_[i]) {
        throw InternalError(
            fmt::format("value %{} lists {} uses, found {}", i, value.uses.size(), uses_[i]));
      }
    }
  }

  [[noreturn]] void broken(NodeId id, const std::string& rule) const {
    throw InternalError(fmt::format("the graph is broken at {}: {}", graph_.describe(id), rule));
  }

  const Graph& graph_;
  std::vector<size_t> uses_;
};

}  // namespace

void validate(const Graph& graph) { Validator(graph).check(); }

}  // namespace stitch
