// Operators whose result has an extent that depends on data, which must be known at import.
#include <algorithm>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"

namespace stitch {
namespace {

// Positions of the elements that are not zero, int64[rank, count], in row-major order.
void lower_non_zero(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const Tensor tensor = n.known(0);
  const std::vector<int64_t>& extents = tensor.extents();
  std::vector<int64_t> found;
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    if (tensor.real(i) != 0) found.push_back(i);
  }
  const auto rank = static_cast<int64_t>(std::max<size_t>(1, extents.size()));
  const auto count = static_cast<int64_t>(found.size());
  Tensor positions(DType::kI64, {rank, count});
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = found[static_cast<size_t>(i)];
    for (int64_t axis = rank - 1; axis >= 0; --axis) {
      const int64_t extent = extents.empty() ? 1 : extents[static_cast<size_t>(axis)];
      positions.set_integer(axis * count + i, rest % extent);
      rest /= extent;
    }
  }
  n.output(0, b.constant(positions));
}

// Entries of an axis, or of the flattened operand, where the condition holds.
void lower_compress(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const Tensor condition = n.known(1);
  ValueId x = n.input(0);
  int axis = 0;
  if (n.has_attribute("axis")) {
    axis = normalise_axis(n.integer("axis", 0), b.rank(x));
  } else {
    x = b.reshape(x, {element_count(b.shape(x))});
  }
  const int64_t extent = std::min(b.dim(x, axis).constant(), condition.element_count());
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < extent; ++i) {
    if (condition.integer(i) != 0) kept.push_back(i);
  }
  n.output(0, b.gather(x, b.constant(Tensor::of_integers(DType::kI64, kept)), axis));
}

constexpr OperatorRow kRows[] = {
    {"Compress", 9, lower_compress},
    {"NonZero", 9, lower_non_zero},
};

}  // namespace

std::span<const OperatorRow> dynamic_operators() { return kRows; }

}  // namespace stitch
