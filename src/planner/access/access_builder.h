// The work in progress of build_access_graph: one access node per arithmetic node of the graph.
#pragma once
#include <vector>

#include "graph/graph.h"
#include "planner/access/access_compose.h"
#include "planner/access/access_graph.h"
#include "planner/access/access_unify.h"

namespace stitch {

class AccessBuilder {
 public:
  explicit AccessBuilder(const Graph& graph);
  AccessGraph build();

 private:
  using Index = std::vector<ExprId>;

  void build_node(NodeId id);
  void limit_pieces(NodeId id);
  void add_output(const GraphOutput& output);

  AccessNode elementwise(const Node& node);
  AccessNode generator(const Node& node);
  AccessNode reduce(NodeId id);
  AccessNode window(NodeId id);
  AccessNode scan(NodeId id);
  AccessNode sort(NodeId id);
  AccessNode scatter(NodeId id);
  AccessNode matmul(NodeId id);
  AccessNode conv(NodeId id);
  AccessNode conv_transpose(NodeId id);
  AccessValueId copy(ValueId value);

  // A node over the dims of result 0, with the op, attributes and sources of the graph's node.
  AccessNode start(AccessKind kind, const Node& node);
  void finish(AccessNode node, const std::vector<ValueId>& results);
  AccessValueId add_value(AccessValueKind kind, ValueId value);
  // pieces where the read exists, else the scalar
  static Read filled(const GuardedRead& inside, AccessValueId otherwise);
  // Per dim of the value, its atoms as one index.
  Index index_of(ValueId value);
  // The same for the reduced dims of a node; adds the atoms to `reduced`.
  Index reduced_index(NodeId id, std::vector<AtomId>& reduced);
  std::vector<AtomId> atoms(const AxisSequence& axes);
  std::vector<int64_t> extents(ValueId value) const {
    return constant_extents(graph_.type(value).shape);
  }

  const Graph& graph_;
  AccessGraph access_;
  GraphAxes axes_;
  ReadComposer composer_;
  std::vector<AtomId> atom_of_axis_;
};

}  // namespace stitch
