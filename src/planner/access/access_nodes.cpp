// Access nodes of the ops that are no contraction and no window.
#include <utility>
#include <variant>

#include "planner/access/access_builder.h"

namespace stitch {

AccessNode AccessBuilder::elementwise(const Node& node) {
  AccessNode result = start(AccessKind::kElementwise, node);
  const Index index = index_of(node.results[0]);
  for (const ValueId operand : node.operands) {
    result.operands.push_back(composer_.read(operand, index));
  }
  return result;
}

// iota is its index; philox is a function of the element's number.
AccessNode AccessBuilder::generator(const Node& node) {
  if (node.op != Op::k_iota) return start(AccessKind::kElementwise, node);
  AccessNode result = start(AccessKind::kIndex, node);
  const int axis = std::get<IotaAttributes>(node.attributes).axis;
  result.expression = index_of(node.results[0])[static_cast<size_t>(axis)];
  return result;
}

AccessNode AccessBuilder::reduce(NodeId id) {
  const Node& node = graph_.node(id);
  const bool arg = node.op == Op::k_argreduce;
  AccessNode result = start(arg ? AccessKind::kArgReduce : AccessKind::kReduce, node);
  const Index kept = index_of(node.results[0]);
  const Index reduced = reduced_index(id, result.reduced);
  std::vector<int> axes;
  if (arg) {
    axes = {std::get<ArgReduceAttributes>(node.attributes).axis};
    result.expression = reduced[0];
  } else {
    axes = std::get<ReduceAttributes>(node.attributes).axes;
  }
  Index index;
  size_t next_kept = 0, next_reduced = 0;
  for (size_t d = 0; d < kept.size() + reduced.size(); ++d) {
    const bool drop = next_reduced < axes.size() && axes[next_reduced] == static_cast<int>(d);
    index.push_back(drop ? reduced[next_reduced++] : kept[next_kept++]);
  }
  result.operands.push_back(composer_.read(node.operands[0], index));
  return result;
}

AccessNode AccessBuilder::scan(NodeId id) {
  const Node& node = graph_.node(id);
  AccessNode result = start(AccessKind::kScan, node);
  const size_t axis = static_cast<size_t>(std::get<CumulativeAttributes>(node.attributes).axis);
  result.reduced = atoms(axes_.dims[node.results[0].index][axis]);
  result.operands.push_back(composer_.read(node.operands[0], index_of(node.results[0])));
  return result;
}

AccessNode AccessBuilder::sort(NodeId id) {
  const Node& node = graph_.node(id);
  AccessNode result = start(AccessKind::kSort, node);
  Index index = index_of(node.results[0]);
  const size_t axis = static_cast<size_t>(std::get<TopKAttributes>(node.attributes).axis);
  index[axis] = reduced_index(id, result.reduced)[0];
  result.operands.push_back(composer_.read(node.operands[0], index));
  return result;
}

AccessNode AccessBuilder::scatter(NodeId id) {
  const Node& node = graph_.node(id);
  AccessNode result = start(AccessKind::kScatter, node);
  const Index update = reduced_index(id, result.reduced);
  result.operands.push_back(composer_.read(node.operands[0], index_of(node.results[0])));
  result.operands.push_back(composer_.read(node.operands[2], update));
  if (node.op == Op::k_scatter_elements) {
    const size_t axis = static_cast<size_t>(std::get<ScatterAttributes>(node.attributes).axis);
    result.target = update;
    result.target[axis] = ExprId();
    result.operands.push_back(composer_.read(node.operands[1], update));
    return result;
  }
  const std::vector<int64_t> indices = extents(node.operands[1]);
  const auto rest = update.begin() + static_cast<std::ptrdiff_t>(indices.size() - 1);
  Index coordinate(update.begin(), rest);
  coordinate.push_back(ExprId());
  for (int64_t c = 0; c < indices.back(); ++c) {
    coordinate.back() = access_.pool.constant(c);
    result.target.push_back(ExprId());
    result.operands.push_back(composer_.read(node.operands[1], coordinate));
  }
  result.target.insert(result.target.end(), rest, update.end());
  return result;
}

}  // namespace stitch
