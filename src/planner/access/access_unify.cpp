#include "planner/access/access_unify.h"

#include <algorithm>
#include <numeric>
#include <variant>

#include "graph/error.h"

namespace stitch {
namespace {

AxisSequence flat(const std::vector<AxisSequence>& dims) {
  AxisSequence all;
  for (const AxisSequence& dim : dims) all.insert(all.end(), dim.begin(), dim.end());
  return all;
}

class Unifier {
 public:
  explicit Unifier(const Graph& graph) : graph_(graph) {
    axes_.dims.resize(graph.value_count());
    axes_.reduced.resize(graph.node_count());
    for (const ValueId input : graph.inputs()) {
      dims(input) = fresh(extents(input));
      together(dims(input));
    }
  }

  void visit(NodeId id);
  GraphAxes take() { return std::move(axes_); }

 private:
  using Dims = std::vector<AxisSequence>;

  Dims& dims(ValueId value) { return axes_.dims[value.index]; }
  std::vector<int64_t> extents(ValueId value) const {
    return constant_extents(graph_.type(value).shape);
  }
  AxisSequence fresh(int64_t extent) {
    return extent == 1 ? AxisSequence{} : AxisSequence{axes_.classes.add(extent)};
  }
  Dims fresh(const std::vector<int64_t>& extents) {
    Dims result;
    for (const int64_t extent : extents) result.push_back(fresh(extent));
    return result;
  }
  void unify(const AxisSequence& a, const AxisSequence& b) { axes_.classes.unify(a, b); }
  void together(const Dims& a, const Dims& b = {}) {
    AxisSequence all = flat(a);
    const AxisSequence more = flat(b);
    all.insert(all.end(), more.begin(), more.end());
    axes_.classes.live_together(all);
  }
  // The dims of `base`, with fresh axes where `keep` is false.
  void keep_dims(const Node& node, ValueId base, const std::vector<bool>& keep);
  void keep_equal_extents(const Node& node);

  void elementwise(const Node& node);
  void reshape(const Node& node);
  void broadcast(const Node& node);
  void transpose(const Node& node);
  void concat(const Node& node);
  void gather(const Node& node);
  void gather_elements(const Node& node);
  void gather_nd(const Node& node);
  void reduce(NodeId id, const std::vector<int>& reduced);
  void window(NodeId id);
  void top_k(NodeId id);
  void matmul(NodeId id);
  void conv(NodeId id);

  const Graph& graph_;
  GraphAxes axes_;
};

void Unifier::visit(NodeId id) {
  const Node& node = graph_.node(id);
  switch (facts(node.op).op_class) {
    case OpClass::k_light:
    case OpClass::k_expensive:
      return elementwise(node);
    case OpClass::k_generator:
    case OpClass::k_control:
    case OpClass::k_dynamic:
      for (const ValueId result : node.results) {
        dims(result) = fresh(extents(result));
        together(dims(result));
      }
      return;
    case OpClass::k_movement:
      if (node.op == Op::k_reshape) return reshape(node);
      if (node.op == Op::k_broadcast) return broadcast(node);
      if (node.op == Op::k_transpose) return transpose(node);
      if (node.op == Op::k_concat) return concat(node);
      if (node.op != Op::k_reverse) return keep_equal_extents(node);  // slice, pad
      {
        std::vector<bool> keep(extents(node.results[0]).size(), true);
        for (const int axis : std::get<ReverseAttributes>(node.attributes).axes) {
          keep[static_cast<size_t>(axis)] = false;
        }
        return keep_dims(node, node.operands[0], keep);
      }
    case OpClass::k_indexed:
      if (node.op == Op::k_gather) return gather(node);
      if (node.op == Op::k_gather_elements) return gather_elements(node);
      if (node.op == Op::k_gather_nd) return gather_nd(node);
      dims(node.results[0]) = dims(node.operands[0]);  // scatter
      axes_.reduced[id.index] = dims(node.operands[2]);
      return;
    case OpClass::k_reduce:
      if (node.op == Op::k_argreduce) {
        return reduce(id, {std::get<ArgReduceAttributes>(node.attributes).axis});
      }
      return reduce(id, std::get<ReduceAttributes>(node.attributes).axes);
    case OpClass::k_window:
      return window(id);
    case OpClass::k_scan:
      if (node.op == Op::k_top_k) return top_k(id);
      return elementwise(node);  // cumulative
    case OpClass::k_contraction:
      return node.op == Op::k_matmul ? matmul(id) : conv(id);
  }
}

void Unifier::keep_dims(const Node& node, ValueId base, const std::vector<bool>& keep) {
  const std::vector<int64_t> shape = extents(node.results[0]);
  Dims result;
  for (size_t d = 0; d < shape.size(); ++d) {
    result.push_back(keep[d] ? dims(base)[d] : fresh(shape[d]));
  }
  together(result);
  dims(node.results[0]) = std::move(result);
}

// slice and pad: a dim whose extent stays is not touched.
void Unifier::keep_equal_extents(const Node& node) {
  const std::vector<int64_t> before = extents(node.operands[0]);
  const std::vector<int64_t> after = extents(node.results[0]);
  std::vector<bool> keep(after.size());
  for (size_t d = 0; d < after.size(); ++d) keep[d] = before[d] == after[d];
  keep_dims(node, node.operands[0], keep);
}

void Unifier::elementwise(const Node& node) {
  Dims& result = dims(node.results[0]);
  if (node.operands.empty()) {
    result = fresh(extents(node.results[0]));
    return together(result);
  }
  result = dims(node.operands[0]);
  for (size_t i = 1; i < node.operands.size(); ++i) {
    const Dims& operand = dims(node.operands[i]);
    for (size_t d = 0; d < result.size(); ++d) unify(operand[d], result[d]);
  }
}

// Walks both shapes and unifies group by group, so that a group without common factors stays local.
void Unifier::reshape(const Node& node) {
  const std::vector<int64_t> from = extents(node.operands[0]), to = extents(node.results[0]);
  const Dims source = dims(node.operands[0]);
  Dims result = fresh(to);
  together(result);
  dims(node.results[0]) = result;
  if (std::find(from.begin(), from.end(), 0) != from.end()) return;
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    AxisSequence left = source[i], right = result[j];
    int64_t left_size = from[i++], right_size = to[j++];
    while (left_size != right_size) {
      if (left_size < right_size) {
        left.insert(left.end(), source[i].begin(), source[i].end());
        left_size *= from[i++];
      } else {
        right.insert(right.end(), result[j].begin(), result[j].end());
        right_size *= to[j++];
      }
    }
    unify(right, left);
  }
}

void Unifier::broadcast(const Node& node) {
  const std::vector<int> axes = std::get<BroadcastAttributes>(node.attributes).axes;
  const std::vector<int64_t> from = extents(node.operands[0]), to = extents(node.results[0]);
  std::vector<int> source(to.size(), -1);
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t d = static_cast<size_t>(axes[i]);
    if (from[i] == to[d]) source[d] = static_cast<int>(i);
  }
  Dims result;
  for (size_t d = 0; d < to.size(); ++d) {
    result.push_back(source[d] < 0 ? fresh(to[d])
                                   : dims(node.operands[0])[static_cast<size_t>(source[d])]);
  }
  together(result);
  dims(node.results[0]) = std::move(result);
}

void Unifier::transpose(const Node& node) {
  Dims result;
  for (const int axis : std::get<TransposeAttributes>(node.attributes).perm) {
    result.push_back(dims(node.operands[0])[static_cast<size_t>(axis)]);
  }
  dims(node.results[0]) = std::move(result);
}

void Unifier::concat(const Node& node) {
  const size_t axis = static_cast<size_t>(std::get<AxisAttributes>(node.attributes).axis);
  std::vector<bool> keep(extents(node.results[0]).size(), true);
  keep[axis] = false;
  keep_dims(node, node.operands[0], keep);
  for (const ValueId operand : node.operands) {
    for (size_t d = 0; d < keep.size(); ++d) {
      if (d != axis) unify(dims(operand)[d], dims(node.results[0])[d]);
    }
  }
}

void Unifier::gather(const Node& node) {
  const size_t axis = static_cast<size_t>(std::get<AxisAttributes>(node.attributes).axis);
  const Dims source = dims(node.operands[0]), index = dims(node.operands[1]);
  const std::vector<int64_t> shape = extents(node.results[0]);
  Dims result;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d < axis) {
      result.push_back(source[d]);
    } else if (d < axis + index.size()) {
      result.push_back(fresh(shape[d]));
    } else {
      result.push_back(source[d - index.size() + 1]);
    }
  }
  together(result);
  for (size_t i = 0; i < index.size(); ++i) unify(result[axis + i], index[i]);
  dims(node.results[0]) = std::move(result);
}

void Unifier::gather_elements(const Node& node) {
  const size_t axis = static_cast<size_t>(std::get<AxisAttributes>(node.attributes).axis);
  const std::vector<int64_t> from = extents(node.operands[0]), to = extents(node.results[0]);
  dims(node.results[0]) = dims(node.operands[1]);
  for (size_t d = 0; d < to.size(); ++d) {
    if (d != axis && from[d] == to[d]) {
      unify(dims(node.operands[0])[d], dims(node.results[0])[d]);
    }
  }
}

void Unifier::gather_nd(const Node& node) {
  const size_t batch =
      static_cast<size_t>(std::get<GatherNdAttributes>(node.attributes).batch_dims);
  const Dims source = dims(node.operands[0]), index = dims(node.operands[1]);
  const size_t coordinates = static_cast<size_t>(extents(node.operands[1]).back());
  Dims result = fresh(extents(node.results[0]));
  together(result);
  for (size_t d = 0; d + 1 < index.size(); ++d) unify(result[d], index[d]);
  for (size_t d = 0; d < batch; ++d) unify(result[d], source[d]);
  for (size_t d = batch + coordinates; d < source.size(); ++d) {
    unify(result[index.size() - 1 + d - batch - coordinates], source[d]);
  }
  dims(node.results[0]) = std::move(result);
}

void Unifier::reduce(NodeId id, const std::vector<int>& reduced) {
  const Node& node = graph_.node(id);
  const Dims& source = dims(node.operands[0]);
  Dims kept;
  for (size_t d = 0; d < source.size(); ++d) {
    const bool drop =
        std::find(reduced.begin(), reduced.end(), static_cast<int>(d)) != reduced.end();
    (drop ? axes_.reduced[id.index] : kept).push_back(source[d]);
  }
  dims(node.results[0]) = std::move(kept);
}

void Unifier::window(NodeId id) {
  const Node& node = graph_.node(id);
  const auto& attributes = std::get<WindowAttributes>(node.attributes);
  const std::vector<int64_t> from = extents(node.operands[0]), to = extents(node.results[0]);
  const size_t outer = to.size() - attributes.kernel.size();
  std::vector<bool> keep(to.size());
  for (size_t d = 0; d < to.size(); ++d) {
    keep[d] = d < outer || (attributes.kernel[d - outer] == 1 && from[d] == to[d]);
  }
  keep_dims(node, node.operands[0], keep);
  axes_.reduced[id.index] = fresh(attributes.kernel);
  together(dims(node.results[0]), axes_.reduced[id.index]);
}

void Unifier::top_k(NodeId id) {
  const Node& node = graph_.node(id);
  const size_t axis = static_cast<size_t>(std::get<TopKAttributes>(node.attributes).axis);
  std::vector<bool> keep(extents(node.results[0]).size(), true);
  keep[axis] = false;
  keep_dims(node, node.operands[0], keep);
  axes_.reduced[id.index] = {dims(node.operands[0])[axis]};
  together(dims(node.results[0]), axes_.reduced[id.index]);
  dims(node.results[1]) = dims(node.results[0]);
}

void Unifier::matmul(NodeId id) {
  const Node& node = graph_.node(id);
  const Dims a = dims(node.operands[0]), b = dims(node.operands[1]);
  Dims result = fresh(extents(node.results[0]));
  const size_t batch = result.size() - 2;
  const AxisSequence k = fresh(extents(node.operands[0]).back());
  axes_.reduced[id.index] = {k};
  together(result, {k});
  unify(result[batch], a[batch]);
  for (size_t d = 0; d < batch; ++d) {
    unify(result[d], a[d]);
    unify(result[d], b[d]);
  }
  unify(k, a[batch + 1]);
  unify(k, b[batch]);
  unify(result[batch + 1], b[batch + 1]);
  dims(node.results[0]) = std::move(result);
}

// conv and conv_transpose: the channel dims are [group, channel of the group].
void Unifier::conv(NodeId id) {
  const Node& node = graph_.node(id);
  const auto& attributes = std::get<ConvAttributes>(node.attributes);
  const bool transposed = node.op == Op::k_conv_transpose;
  const std::vector<int64_t> in = extents(node.operands[0]), weight = extents(node.operands[1]);
  const Dims x = dims(node.operands[0]), w = dims(node.operands[1]);
  const std::vector<int64_t> out = extents(node.results[0]);
  Dims result = fresh(out);
  const AxisSequence group = fresh(attributes.groups);
  const AxisSequence channel = fresh(out[1] / attributes.groups);
  result[1] = group;
  result[1].insert(result[1].end(), channel.begin(), channel.end());
  Dims& reduced = axes_.reduced[id.index];
  reduced = {fresh(in[1] / attributes.groups)};
  for (size_t d = 2; d < weight.size(); ++d) reduced.push_back(fresh(weight[d]));
  together(result, reduced);

  AxisSequence in_channels = group;
  in_channels.insert(in_channels.end(), reduced[0].begin(), reduced[0].end());
  unify(result[0], x[0]);
  unify(in_channels, x[1]);
  unify(transposed ? in_channels : result[1], w[0]);
  unify(transposed ? channel : reduced[0], w[1]);
  for (size_t d = 2; d < out.size(); ++d) {
    unify(reduced[d - 1], w[d]);
    const bool pointwise = weight[d] == 1 && in[d] == out[d];
    if (pointwise) unify(result[d], x[d]);
  }
  dims(node.results[0]) = std::move(result);
}

}  // namespace

GraphAxes unify_axes(const Graph& graph, const std::vector<bool>& live) {
  Unifier unifier(graph);
  for (size_t n = 0; n < graph.node_count(); ++n) {
    if (live[n]) unifier.visit(NodeId(n));
  }
  return unifier.take();
}

}  // namespace stitch
