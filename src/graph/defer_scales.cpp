// Scales of dequantised operands behind the contraction that reads them, where a runtime with
// integer contractions multiplies: products of small integers are summed without an error, and the
// scale is part of what is stitched behind.
//
//   conv(cast(x_q) * broadcast(s_x), cast(w_q) * broadcast(s_w, axes [0]))
//   =>  conv(cast(x_q), cast(w_q)) * broadcast(s_x * s_w, axes [1])
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "graph/graph_rewriter.h"
#include "graph/passes.h"

namespace stitch {
namespace {

struct Scale {
  Tensor tensor;  // one element, or one per index of `axis`
  int axis = -1;  // -1: one scale for all
};

// An operand that is integers times a scale, seen through transposes.
struct Dequantised {
  ValueId integers;                // as f32
  std::vector<NodeId> transposes;  // between the product and the contraction, innermost first
  Scale scale;                     // along an axis of the operand
};

class ScaleDeferrer {
 public:
  explicit ScaleDeferrer(const Graph& graph) : graph_(graph), rewriter_(graph) {}

  Graph run() {
    for (size_t n = 0; n < graph_.node_count(); ++n) {
      if (!defer(NodeId(n))) rewriter_.copy(NodeId(n));
    }
    return rewriter_.finish();
  }

 private:
  const Node* producer(ValueId value) const {
    const NodeId id = graph_.value(value).producer;
    return id.valid() ? &graph_.node(id) : nullptr;
  }

  bool defer(NodeId id) {
    const Node& node = graph_.node(id);
    if (facts(node.op).op_class != OpClass::k_contraction) return false;
    if (graph_.type(node.results[0]).dtype != DType::kF32) return false;
    const std::optional<Dequantised> left = dequantised(node.operands[0]);
    const std::optional<Dequantised> right = dequantised(node.operands[1]);
    if (!left || !right) return false;
    const std::optional<int> left_axis = result_axis(node, 0, left->scale.axis);
    const std::optional<int> right_axis = result_axis(node, 1, right->scale.axis);
    if (!left_axis || !right_axis) return false;
    const std::optional<std::vector<Scale>> scales =
        product({left->scale.tensor, *left_axis}, {right->scale.tensor, *right_axis});
    if (!scales) return false;
    const ValueType type = graph_.type(node.results[0]);
    ValueId result = rewriter_.to().add(node.op, {moved(*left), moved(*right)}, node.attributes,
                                        node.sources, &type);
    for (const Scale& scale : *scales) {
      BroadcastAttributes along;
      if (scale.axis >= 0) along.axes.push_back(scale.axis);
      const ValueId constant = rewriter_.to().add_constant(scale.tensor);
      const ValueId spread =
          rewriter_.to().add(Op::k_broadcast, {constant}, along, node.sources, &type);
      result = rewriter_.to().add(Op::k_mul, {result, spread}, {}, node.sources, &type);
    }
    rewriter_.replace(node.results[0], result);
    return true;
  }

  std::optional<Dequantised> dequantised(ValueId operand) const {
    Dequantised found;
    const Node* node = producer(operand);
    for (; node != nullptr && node->op == Op::k_transpose; node = producer(node->operands[0])) {
      found.transposes.insert(found.transposes.begin(), graph_.value(node->results[0]).producer);
    }
    if (node == nullptr || node->op != Op::k_mul) return std::nullopt;
    for (const size_t side : {0, 1}) {
      const Node* const cast = producer(node->operands[side]);
      if (cast == nullptr || cast->op != Op::k_cast) continue;
      if (!is_integer(graph_.type(cast->operands[0]).dtype)) continue;
      std::optional<Scale> scale = scale_of(node->operands[1 - side]);
      if (!scale) continue;
      found.integers = node->operands[side];
      found.scale = *std::move(scale);
      int& axis = found.scale.axis;
      for (const NodeId transpose : found.transposes) {
        if (axis < 0) break;
        const auto& perm =
            attributes_as<TransposeAttributes>(graph_.node(transpose).attributes).perm;
        axis = static_cast<int>(std::find(perm.begin(), perm.end(), axis) - perm.begin());
      }
      return found;
    }
    return std::nullopt;
  }

  // A constant that is one number, or that varies along one axis.
  std::optional<Scale> scale_of(ValueId value) const {
    if (const Tensor* tensor = graph_.constant(value)) {
      if (tensor->element_count() != 1) return std::nullopt;
      return Scale{tensor->reshaped({}), -1};
    }
    const Node* const spread = producer(value);
    if (spread == nullptr || spread->op != Op::k_broadcast) return std::nullopt;
    const Tensor* const tensor = graph_.constant(spread->operands[0]);
    if (tensor == nullptr) return std::nullopt;
    if (tensor->element_count() == 1) return Scale{tensor->reshaped({}), -1};
    if (tensor->extents().size() != 1) return std::nullopt;
    return Scale{*tensor, attributes_as<BroadcastAttributes>(spread->attributes).axes[0]};
  }

  // The axis of the result along which a scale of an operand varies; none where it varies along
  // what is summed.
  std::optional<int> result_axis(const Node& node, size_t operand, int axis) const {
    if (axis < 0) return -1;
    if (node.op == Op::k_conv) return operand == 1 && axis == 0 ? std::optional(1) : std::nullopt;
    if (node.op != Op::k_matmul) return std::nullopt;
    const int rank = static_cast<int>(graph_.type(node.operands[operand]).shape.size());
    const int summed = operand == 0 ? rank - 1 : rank - 2;
    return axis == summed ? std::nullopt : std::optional(axis);
  }

  // One scale where one of them is a single number, or both vary along one axis. None where a
  // product of scales is no normal number: it would lose what the scales one by one keep.
  static std::optional<std::vector<Scale>> product(const Scale& a, const Scale& b) {
    if (a.axis >= 0 && b.axis >= 0 && a.axis != b.axis) return std::vector<Scale>{a, b};
    const Scale& longer = a.axis >= 0 ? a : b;
    Scale both = {Tensor(DType::kF32, longer.tensor.extents()), longer.axis};
    for (int64_t i = 0; i < both.tensor.element_count(); ++i) {
      const double value = a.tensor.real(a.axis < 0 ? 0 : i) * b.tensor.real(b.axis < 0 ? 0 : i);
      const double magnitude = std::fabs(value);
      if (!(magnitude >= std::numeric_limits<float>::min() &&
            magnitude <= std::numeric_limits<float>::max())) {
        return std::nullopt;
      }
      both.tensor.set_real(i, value);
    }
    return std::vector<Scale>{std::move(both)};
  }

  ValueId moved(const Dequantised& operand) {
    ValueId value = rewriter_.map(operand.integers);
    for (const NodeId transpose : operand.transposes) {
      const Node& node = graph_.node(transpose);
      const ValueType type = graph_.type(node.results[0]);
      value = rewriter_.to().add(node.op, {value}, node.attributes, node.sources, &type);
    }
    return value;
  }

  const Graph& graph_;
  GraphRewriter rewriter_;
};

}  // namespace

Graph defer_scales(const Graph& graph) { return ScaleDeferrer(graph).run(); }

}  // namespace stitch
