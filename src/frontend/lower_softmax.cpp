// Softmax, LogSoftmax, Hardmax.
#include <numeric>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "frontend/softmax.h"
#include "frontend/widened.h"

namespace stitch {
namespace {

// x - max(x) along the axes.
ValueId below_max(PrimitiveBuilder& b, ValueId x, const std::vector<int>& axes) {
  const ValueId max = b.reduce(ReduceKind::kMax, x, axes, false);
  return b.sub(x, b.spread(max, b.shape(x), axes));
}

ValueId sum_over(PrimitiveBuilder& b, ValueId x, const std::vector<int>& axes) {
  return b.reduce(ReduceKind::kSum, x, axes, false);
}

}  // namespace

ValueId softmax(PrimitiveBuilder& b, ValueId x, const std::vector<int>& axes) {
  const ValueId exp = b.unary(Op::k_exp, below_max(b, x, axes));
  return b.div(exp, b.spread(sum_over(b, exp, axes), b.shape(x), axes));
}

ValueId log_softmax(PrimitiveBuilder& b, ValueId x, const std::vector<int>& axes) {
  const ValueId shifted = below_max(b, x, axes);
  const ValueId sum = sum_over(b, b.unary(Op::k_exp, shifted), axes);
  return b.sub(shifted, b.spread(b.unary(Op::k_log, sum), b.shape(x), axes));
}

namespace {

using SoftmaxFunction = ValueId (*)(PrimitiveBuilder&, ValueId, const std::vector<int>&);

void lower_over(NodeContext& n, SoftmaxFunction function, const std::vector<int>& axes) {
  PrimitiveBuilder& b = n.builder();
  n.output(0, axes.empty()
                  ? b.filled(n.dtype(0), function == softmax ? 1 : 0, n.shape(0))
                  : widened(b, n.input(0), [&](ValueId x) { return function(b, x, axes); }));
}

// Before opset 13 the operand counts as a matrix: rows are the axes before `axis`, and a row is
// normalised as a whole.
std::vector<int> flattened_axes(NodeContext& n) {
  const size_t rank = n.rank(0);
  const int64_t given = n.integer("axis", 1);
  const auto axis =
      given == static_cast<int64_t>(rank) ? static_cast<int>(rank) : normalise_axis(given, rank);
  std::vector<int> axes(rank - static_cast<size_t>(axis));
  std::iota(axes.begin(), axes.end(), axis);
  return axes;
}

template <SoftmaxFunction function>
void lower_flattened(NodeContext& n) {
  lower_over(n, function, flattened_axes(n));
}

template <SoftmaxFunction function>
void lower_axis(NodeContext& n) {
  lower_over(n, function, {normalise_axis(n.integer("axis", -1), n.rank(0))});
}

// 1 at the first maximum of each row, 0 elsewhere.
ValueId hardmax(PrimitiveBuilder& b, ValueId x, int axis) {
  const ValueId index =
      b.node(Op::k_argreduce, {x}, ArgReduceAttributes{.kind = ReduceKind::kMax, .axis = axis});
  const ValueId position = b.iota(DType::kI64, b.shape(x), axis);
  const ValueId is_max = b.compare(CompareKind::kEq, position, b.spread(index, b.shape(x), {axis}));
  return b.cast(is_max, b.dtype(x));
}

void lower_hardmax(NodeContext& n) {
  n.output(0, hardmax(n.builder(), n.input(0), normalise_axis(n.integer("axis", -1), n.rank(0))));
}

void lower_hardmax_flattened(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const Shape shape = n.shape(0);
  const size_t before = shape.size() - flattened_axes(n).size();
  const auto middle = shape.begin() + static_cast<std::ptrdiff_t>(before);
  const Shape matrix = {element_count(Shape(shape.begin(), middle)),
                        element_count(Shape(middle, shape.end()))};
  n.output(0, b.reshape(hardmax(b, b.reshape(n.input(0), matrix), 1), shape));
}

constexpr OperatorRow kRows[] = {
    {"Hardmax", 1, lower_hardmax_flattened},         {"Hardmax", 13, lower_hardmax},
    {"LogSoftmax", 1, lower_flattened<log_softmax>}, {"LogSoftmax", 13, lower_axis<log_softmax>},
    {"Softmax", 1, lower_flattened<softmax>},        {"Softmax", 13, lower_axis<softmax>},
};

}  // namespace

std::span<const OperatorRow> softmax_operators() { return kRows; }

}  // namespace stitch
