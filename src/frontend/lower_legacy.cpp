// Definitions before opset 7: binary operators broadcast only where an attribute says so
// (operators.md 6.1).
#include <fmt/format.h>

#include <numeric>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "graph/error.h"

namespace stitch {
namespace {

// Operand 1 of the shape of operand 0. With broadcast=1 its axes are placed from `axis` on, or at
// the end; without it the shapes are equal.
ValueId placed_operand(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const Shape whole = n.shape(0);
  const ValueId operand = n.input(1);
  const Shape own = b.shape(operand);
  if (own == whole) return operand;
  if (n.integer("broadcast", 0) == 0) {
    throw ModelError(fmt::format("operands of shape {} and {} without the attribute broadcast=1",
                                 to_string(whole), to_string(own)));
  }
  if (!n.has_attribute("axis")) return b.broadcast(operand, whole);
  const int first = normalise_axis(n.integer("axis", 0), whole.size());
  if (static_cast<size_t>(first) + own.size() > whole.size()) {
    throw ModelError(
        fmt::format("cannot place {} at axis {} of {}", to_string(own), first, to_string(whole)));
  }
  std::vector<int> axes(own.size());
  std::iota(axes.begin(), axes.end(), first);
  return b.broadcast_axes(operand, whole, axes);
}

template <Op op>
void lower_binary(NodeContext& n) {
  n.output(0, n.builder().binary(op, n.input(0), placed_operand(n)));
}

template <CompareKind kind>
void lower_compare(NodeContext& n) {
  n.output(0, n.builder().compare(kind, n.input(0), placed_operand(n)));
}

void lower_greater(NodeContext& n) {
  n.output(0, n.builder().compare(CompareKind::kLt, placed_operand(n), n.input(0)));
}

template <BitwiseKind kind>
void lower_logical(NodeContext& n) {
  n.output(0, n.builder().bitwise(kind, n.input(0), placed_operand(n)));
}

void lower_prelu(NodeContext& n) {  // a slope for each channel goes to axis 1
  PrimitiveBuilder& b = n.builder();
  const ValueId x = n.input(0);
  const ValueId slope = n.input(1);
  const bool by_channel = b.rank(slope) == 1 && !(b.dim(slope, 0) == Dim(1)) && b.rank(x) > 1;
  const ValueId spread = by_channel ? b.broadcast_axes(slope, b.shape(x), {1})
                                    : b.broadcast(b.reshape(slope, {}), b.shape(x));
  n.output(0, b.select(b.compare(CompareKind::kLt, x, 0.0), b.mul(x, spread), x));
}

constexpr OperatorRow kRows[] = {
    {"Add", 6, lower_binary<Op::k_add>}, {"And", 1, lower_logical<BitwiseKind::kAnd>},
    {"Div", 6, lower_binary<Op::k_div>}, {"Equal", 1, lower_compare<CompareKind::kEq>},
    {"Greater", 1, lower_greater},       {"Less", 1, lower_compare<CompareKind::kLt>},
    {"Mul", 6, lower_binary<Op::k_mul>}, {"Or", 1, lower_logical<BitwiseKind::kOr>},
    {"PRelu", 6, lower_prelu},           {"Pow", 1, lower_binary<Op::k_pow>},
    {"Sub", 6, lower_binary<Op::k_sub>}, {"Xor", 1, lower_logical<BitwiseKind::kXor>},
};

}  // namespace

std::span<const OperatorRow> legacy_operators() { return kRows; }

}  // namespace stitch
