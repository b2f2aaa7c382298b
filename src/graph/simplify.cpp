#include <cmath>
#include <cstring>

#include "graph/graph_rewriter.h"
#include "graph/passes.h"
#include "graph/simplifier.h"

namespace stitch {
namespace {

// Rules make nodes that rules simplify again; each makes something smaller, so few levels are used.
constexpr int kDeepest = 16;

bool has_equal_elements(const Tensor& tensor) {
  const auto size = static_cast<size_t>(size_bytes(tensor.dtype()));
  const std::span<const std::byte> bytes = tensor.bytes();
  return bytes.size() >= size &&
         std::memcmp(bytes.data(), bytes.data() + size, bytes.size() - size) == 0;
}

}  // namespace

std::optional<ValueId> Simplifier::simplify(const Candidate& candidate) {
  if (depth_ >= kDeepest) return std::nullopt;
  ++depth_;
  std::optional<ValueId> result;
  for (const auto rule : {simplify_arithmetic, simplify_logic, simplify_cast, simplify_movement,
                          simplify_reduction, sink_broadcast}) {
    result = rule(*this, candidate);
    if (result) break;
  }
  --depth_;
  return result;
}

ValueId Simplifier::make(Op op, std::vector<ValueId> operands, const Attributes& attributes,
                         const ValueType& type) {
  // Copies: the caller's may live in the graph, which grows here.
  const Attributes kept = attributes.index() == 0 ? default_attributes(op) : attributes;
  const ValueType kept_type = type;
  if (const auto simpler = simplify({op, kept, operands, kept_type})) return *simpler;
  return graph_.add(op, std::move(operands), kept, sources_, &kept_type);
}

ValueId Simplifier::make_splat(const ValueType& type, double value) {
  return make_splat(type, Tensor::scalar(type.dtype, value));
}

ValueId Simplifier::make_splat(const ValueType& type, const Tensor& scalar) {
  const ValueType kept_type = type;
  const ValueId constant = graph_.add_constant(scalar);
  if (kept_type.shape.empty()) return constant;
  return graph_.add(Op::k_broadcast, {constant}, BroadcastAttributes{}, sources_, &kept_type);
}

const Node* Simplifier::producer(ValueId value, Op op) const {
  const NodeId id = graph_.value(value).producer;
  if (!id.valid() || graph_.node(id).op != op) return nullptr;
  return &graph_.node(id);
}

std::optional<Tensor> Simplifier::splat(ValueId value) const {
  while (true) {
    const NodeId id = graph_.value(value).producer;
    if (!id.valid()) return std::nullopt;
    const Node& node = graph_.node(id);
    if (node.op == Op::k_constant) {
      const Tensor& tensor = *graph_.constant(value);
      if (!has_equal_elements(tensor)) return std::nullopt;
      const auto size = static_cast<size_t>(size_bytes(tensor.dtype()));
      return Tensor(tensor.dtype(), {}, tensor.bytes().first(size), tensor.owner());
    }
    const bool moves = is_movement(node.op) && node.op != Op::k_pad && node.op != Op::k_concat;
    if (!moves) return std::nullopt;
    value = node.operands[0];
  }
}

bool Simplifier::is_splat(ValueId value, double number) const {
  const std::optional<Tensor> scalar = splat(value);
  if (!scalar) return false;
  if (!is_float(scalar->dtype())) return scalar->integer(0) == static_cast<int64_t>(number);
  const double found = scalar->real(0);
  return found == number && std::signbit(found) == std::signbit(number);
}

Graph simplify(const Graph& graph) {
  GraphRewriter rewriter(graph);
  Simplifier simplifier(rewriter.to());
  for (size_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(NodeId(i));
    if (node.results.size() == 1 && !node.operands.empty()) {
      simplifier.set_sources(node.sources);
      const std::vector<ValueId> operands = rewriter.map(node.operands);
      const ValueType& type = graph.type(node.results[0]);
      if (const auto simpler = simplifier.simplify({node.op, node.attributes, operands, type})) {
        rewriter.replace(node.results[0], *simpler);
        continue;
      }
    }
    rewriter.copy(NodeId(i));
  }
  return rewriter.finish();
}

}  // namespace stitch
