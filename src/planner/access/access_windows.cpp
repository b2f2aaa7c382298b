// Access nodes whose reads add kernel offsets: pooling windows and contractions.
#include <limits>
#include <utility>
#include <variant>

#include "graph/strided_copy.h"
#include "planner/access/access_builder.h"

namespace stitch {
namespace {

// The value that changes nothing: 0 for a sum; for a maximum the lowest of the type.
Tensor window_identity(ReduceKind kind, DType dtype) {
  if (kind == ReduceKind::kSum || dtype == DType::kBool) return Tensor::scalar(dtype, 0);
  if (is_float(dtype)) {
    return Tensor::scalar(dtype, -std::numeric_limits<double>::infinity());
  }
  Tensor lowest(dtype, {});
  if (is_signed(dtype)) lowest.set_integer(0, int64_t{-1} << (8 * size_bytes(dtype) - 1));
  return lowest;
}

}  // namespace

AccessNode AccessBuilder::window(NodeId id) {
  const Node& node = graph_.node(id);
  const auto& attributes = std::get<WindowAttributes>(node.attributes);
  const bool arg = node.op == Op::k_argwindow;
  AccessNode result = start(arg ? AccessKind::kArgReduce : AccessKind::kReduce, node);
  const ValueId operand = node.operands[0];
  Index index = index_of(node.results[0]);
  const Index kernel = reduced_index(id, result.reduced);
  const size_t outer = index.size() - kernel.size();
  IndexPool& pool = access_.pool;
  for (size_t d = 0; d < kernel.size(); ++d) {
    index[outer + d] = pool.add(pool.weighted_sum({index[outer + d], kernel[d]},
                                                  {attributes.strides[d], attributes.dilations[d]}),
                                -attributes.low[d]);
  }
  const GuardedRead inside = composer_.read_inside(operand, index, {});
  if (arg) {
    std::vector<int64_t> strides = row_major_strides(extents(operand));
    for (size_t d = 0; d < outer; ++d) strides[d] = 0;
    result.expression = pool.weighted_sum(index, strides);
    result.guards = inside.guards;
    result.operands.push_back(inside.read);
  } else {
    const DType dtype = graph_.type(operand).dtype;
    const AccessValueId identity = access_.add_fill(window_identity(attributes.kind, dtype));
    result.operands.push_back(filled(inside, identity));
  }
  return result;
}

AccessNode AccessBuilder::matmul(NodeId id) {
  const Node& node = graph_.node(id);
  AccessNode result = start(AccessKind::kContraction, node);
  Index a = index_of(node.results[0]);
  Index b = a;
  const size_t batch = a.size() - 2;
  const ExprId k = reduced_index(id, result.reduced)[0];
  a[batch + 1] = k;
  b[batch] = k;
  result.operands.push_back(composer_.read(node.operands[0], a));
  result.operands.push_back(composer_.read(node.operands[1], b));
  return result;
}

// y[n, g*m + c, o] = sum over ci, k of x[n, g*cpg + ci, o*stride + k*dilation - low] * w[.., ci, k]
AccessNode AccessBuilder::conv(NodeId id) {
  const Node& node = graph_.node(id);
  const auto& attributes = std::get<ConvAttributes>(node.attributes);
  AccessNode result = start(AccessKind::kContraction, node);
  IndexPool& pool = access_.pool;
  const Index out = index_of(node.results[0]);
  const Index reduced = reduced_index(id, result.reduced);
  const int64_t group_size = extents(node.results[0])[1] / attributes.groups;
  const int64_t group_inputs = extents(node.operands[0])[1] / attributes.groups;
  Index x = {out[0],
             pool.weighted_sum({pool.floordiv(out[1], group_size), reduced[0]}, {group_inputs, 1})};
  Index w = {out[1], reduced[0]};
  for (size_t d = 0; d < attributes.strides.size(); ++d) {
    x.push_back(pool.add(pool.weighted_sum({out[2 + d], reduced[1 + d]},
                                           {attributes.strides[d], attributes.dilations[d]}),
                         -attributes.low[d]));
    w.push_back(reduced[1 + d]);
  }
  const AccessValueId zero =
      access_.add_fill(Tensor::scalar(graph_.type(node.operands[0]).dtype, 0));
  result.operands.push_back(filled(composer_.read_inside(node.operands[0], x, {}), zero));
  result.operands.push_back(composer_.read(node.operands[1], w));
  return result;
}

// Gathers instead of scattering: x is read at i = (o + low - k*dilation) / stride where that is
// whole.
AccessNode AccessBuilder::conv_transpose(NodeId id) {
  const Node& node = graph_.node(id);
  const auto& attributes = std::get<ConvAttributes>(node.attributes);
  AccessNode result = start(AccessKind::kContraction, node);
  IndexPool& pool = access_.pool;
  const Index out = index_of(node.results[0]);
  const Index reduced = reduced_index(id, result.reduced);
  const int64_t group_size = extents(node.results[0])[1] / attributes.groups;
  const int64_t group_inputs = extents(node.operands[0])[1] / attributes.groups;
  const ExprId channel =
      pool.weighted_sum({pool.floordiv(out[1], group_size), reduced[0]}, {group_inputs, 1});
  Index x = {out[0], channel};
  Index w = {channel, pool.mod(out[1], group_size)};
  std::vector<Guard> whole;
  for (size_t d = 0; d < attributes.strides.size(); ++d) {
    const ExprId spread =
        pool.add(pool.weighted_sum({out[2 + d], reduced[1 + d]}, {1, -attributes.dilations[d]}),
                 attributes.low[d]);
    whole.push_back({pool.mod(spread, attributes.strides[d]), 0, 1});
    x.push_back(pool.floordiv(spread, attributes.strides[d]));
    w.push_back(reduced[1 + d]);
  }
  const AccessValueId zero =
      access_.add_fill(Tensor::scalar(graph_.type(node.operands[0]).dtype, 0));
  result.operands.push_back(filled(composer_.read_inside(node.operands[0], x, whole), zero));
  result.operands.push_back(composer_.read(node.operands[1], w));
  return result;
}

}  // namespace stitch
