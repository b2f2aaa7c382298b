// The peephole rules of the simplify pass and what they share: a view of one node on operands that
// are already simplified, and the making of new nodes.
#pragma once
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace stitch {

// One node about to be added to `graph`.
struct Candidate {
  Op op;
  const Attributes& attributes;
  std::span<const ValueId> operands;
  const ValueType& type;  // of its single result
};

// Makes nodes, each simplified before it is added.
class Simplifier {
 public:
  explicit Simplifier(Graph& graph) : graph_(graph) {}

  const Graph& graph() const { return graph_; }
  const ValueType& type(ValueId value) const { return graph_.type(value); }
  // Nodes made from here on carry these.
  void set_sources(std::vector<SourceId> sources) { sources_ = std::move(sources); }

  // A simpler value that equals the candidate, made where needed; nothing when no rule fits.
  std::optional<ValueId> simplify(const Candidate& candidate);

  // The value of a node: simplified, or added as it is.
  ValueId make(Op op, std::vector<ValueId> operands, const Attributes& attributes,
               const ValueType& type);
  ValueId make_unary(Op op, ValueId x) { return make(op, {x}, {}, type(x)); }
  ValueId make_binary(Op op, ValueId a, ValueId b) { return make(op, {a, b}, {}, type(a)); }
  // A constant of one value in every element.
  ValueId make_splat(const ValueType& type, double value);
  ValueId make_splat(const ValueType& type, const Tensor& scalar);

  // The node behind a value, when it is of this op.
  const Node* producer(ValueId value, Op op) const;
  template <class T>
  const T* producer_attributes(ValueId value, Op op) const {
    const Node* node = producer(value, op);
    return node == nullptr ? nullptr : &attributes_as<T>(node->attributes);
  }
  // The one value (rank 0) that all elements are known to have, seen through movement.
  std::optional<Tensor> splat(ValueId value) const;
  // Whether all elements are this number; -0 is not 0.
  bool is_splat(ValueId value, double number) const;

 private:
  Graph& graph_;
  std::vector<SourceId> sources_;
  int depth_ = 0;
};

// The rules; each keeps every bit of the result, NaN and -0 included, but for pow with a small
// constant exponent, which becomes multiplications or roots that round better than libm's bound.
std::optional<ValueId> simplify_arithmetic(Simplifier& s, const Candidate& c);
std::optional<ValueId> simplify_logic(Simplifier& s, const Candidate& c);
std::optional<ValueId> simplify_cast(Simplifier& s, const Candidate& c);
std::optional<ValueId> simplify_movement(Simplifier& s, const Candidate& c);
std::optional<ValueId> simplify_reduction(Simplifier& s, const Candidate& c);  // and gather
// An element-wise op on equal broadcasts is the broadcast of the op.
std::optional<ValueId> sink_broadcast(Simplifier& s, const Candidate& c);

}  // namespace stitch
