#include <algorithm>

#include "graph/evaluate.h"
#include "graph/graph_rewriter.h"
#include "graph/passes.h"

namespace stitch {
namespace {

// Results of constants up to this size are always folded; larger ones where they are no larger than
// what they are made from, so that folding never grows a model's weights.
constexpr int64_t kLargestFoldedElements = 64 * 1024;
// Expressions over iota are cheap to compute and cost nothing to load: only tables stay.
constexpr int64_t kLargestFoldedIota = 4 * 1024;
// Broadcasts and the like up to this size are made for a moment to compute something smaller.
constexpr int64_t kLargestOperandElements = 1024 * 1024;
// A contraction reads a transposed operand at strides; larger weights are not copied for that.
constexpr int64_t kLargestFoldedTransposeBytes = 64 * 1024;

class ConstantFolder {
 public:
  explicit ConstantFolder(const Graph& graph) : rewriter_(graph), known_(graph.value_count()) {}

  Graph run() {
    const Graph& graph = rewriter_.from();
    for (size_t i = 0; i < graph.node_count(); ++i) {
      const NodeId id(i);
      const Known known = knowledge_of(graph.node(id));
      if (known.is_known && is_worth_folding(graph.node(id), known)) {
        fold(id);
        continue;
      }
      rewriter_.copy(id);
      // Only chains are looked through: evaluating what was not folded for each of its users would
      // take exponential time in a graph of diamonds.
      if (graph.node(id).operands.size() <= 1 && !is_elementwise(graph.node(id).op)) {
        for (const ValueId result : graph.node(id).results) known_[result.index] = known;
      }
    }
    return rewriter_.finish();
  }

 private:
  // What a value is made from, when only from constants and iota.
  struct Known {
    bool is_known = false;
    bool has_iota = false;
    int64_t bytes = 0;  // of the constants
  };

  Known knowledge_of(const Node& node) const {
    const Graph& graph = rewriter_.from();
    Known known{true, node.op == Op::k_iota, 0};
    for (const ValueId result : node.results) {
      if (!is_constant(graph.type(result).shape)) return {};
    }
    if (const Tensor* tensor = graph.constant(node.results[0])) known.bytes = tensor->byte_count();
    for (const ValueId operand : node.operands) {
      const bool stored = graph.constant(operand) != nullptr;
      if (!stored && is_constant(graph.type(operand).shape) &&
          element_count(graph.type(operand).shape).constant() > kLargestOperandElements) {
        return {};
      }
      const Known& part = known_[operand.index];
      if (!part.is_known) return {};
      known.has_iota |= part.has_iota;
      known.bytes += part.bytes;
    }
    return node.op == Op::k_philox ? Known{} : known;
  }

  bool is_worth_folding(const Node& node, const Known& known) const {
    const Graph& graph = rewriter_.from();
    if (node.operands.empty()) return false;
    const auto op_class = facts(node.op).op_class;
    if (op_class == OpClass::k_control || op_class == OpClass::k_dynamic) return false;
    // A broadcast is read through; its elements are never stored.
    if (node.op == Op::k_broadcast) return false;
    int64_t elements = 0, bytes = 0;
    for (const ValueId result : node.results) {
      const int64_t count = element_count(graph.type(result).shape).constant();
      elements += count;
      bytes += count * size_bytes(graph.type(result).dtype);
    }
    if (known.has_iota) return elements <= kLargestFoldedIota;
    if (node.op == Op::k_transpose && bytes > kLargestFoldedTransposeBytes) {
      return !feeds_only_matmuls(node.results[0]);
    }
    return elements <= kLargestFoldedElements || bytes <= known.bytes;
  }

  bool feeds_only_matmuls(ValueId value) const {
    const std::vector<Use>& uses = rewriter_.from().value(value).uses;
    return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
      return rewriter_.from().node(use.node).op == Op::k_matmul;
    });
  }

  void fold(NodeId id) {
    const Node& node = rewriter_.from().node(id);
    const std::vector<Tensor> results = value_of(id);
    for (size_t i = 0; i < results.size(); ++i) {
      const ValueId constant = rewriter_.to().add_constant(results[i]);
      known_[node.results[i].index] = {true, false, results[i].byte_count()};
      rewriter_.replace(node.results[i], constant);
    }
  }

  // Evaluates what the node's operands stand for; iota and broadcasts only for the moment.
  std::vector<Tensor> value_of(NodeId old_node) {
    const Graph& graph = rewriter_.from();
    std::vector<Tensor> operands;
    for (const ValueId operand : graph.node(old_node).operands) {
      if (const Tensor* tensor = rewriter_.to().constant(rewriter_.map(operand))) {
        operands.push_back(*tensor);
      } else {
        const Value& value = graph.value(operand);
        operands.push_back(value_of(value.producer)[value.result]);
      }
    }
    return evaluate_node(graph, old_node, operands);
  }

  GraphRewriter rewriter_;
  std::vector<Known> known_;  // by old value
};

}  // namespace

Graph fold_constants(const Graph& graph) { return ConstantFolder(graph).run(); }

}  // namespace stitch
