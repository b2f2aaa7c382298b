// The making of a new graph from an old one: copies nodes in order and lets a pass put other values
// in the place of theirs.
#pragma once
#include <span>
#include <vector>

#include "graph/graph.h"

namespace stitch {

// Inputs and sources are taken over at once. A pass then copies or replaces every node that it
// keeps, in id order, and calls finish.
class GraphRewriter {
 public:
  explicit GraphRewriter(const Graph& from);

  const Graph& from() const { return from_; }
  Graph& to() { return to_; }

  // The new value that stands for an old one; InternalError when there is none yet.
  ValueId map(ValueId old_value) const;
  std::vector<ValueId> map(std::span<const ValueId> old_values) const;
  // The same node on the mapped operands.
  NodeId copy(NodeId old_node);
  // Lets `new_value` stand for `old_value`. The sources of the old producer go on to the node that
  // made `new_value`, where it was made for it; else, when an old node has just vanished, to the
  // one node that used its result, or to the producer of what remains.
  void replace(ValueId old_value, ValueId new_value);
  // Adds the outputs.
  Graph finish();

 private:
  void pass_on(NodeId old_node, NodeId new_node);

  const Graph& from_;
  Graph to_;
  size_t settled_nodes_ = 0;  // new nodes there were when the last old node was done with
  std::vector<ValueId> map_;  // by old value
  std::vector<std::vector<SourceId>> travelling_;  // by old value: sources for its consumer
};

}  // namespace stitch
