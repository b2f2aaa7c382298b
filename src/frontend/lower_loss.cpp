// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include <fmt/format.h>

#include <numeric>
#include <optional>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "frontend/softmax.h"
#include "graph/error.h"

namespace stitch {
namespace {

// -log_probability[target] * weight[target] over classes on axis 1, then none, sum, or the mean
// divided by the sum of weights. Ignored targets weigh 0; their index may be anything.
ValueId negative_log_likelihood(NodeContext& n, ValueId log_probability, ValueId target,
                                std::optional<ValueId> weight) {
  PrimitiveBuilder& b = n.builder();
  const DType dtype = b.dtype(log_probability);
  const Shape shape = b.shape(target);
  const Shape classes = b.shape(log_probability);
  if (classes.size() < 2 || classes.size() != shape.size() + 1) {
    throw ModelError(fmt::format("scores of shape {} for targets of shape {}", to_string(classes),
                                 to_string(shape)));
  }
  ValueId index = b.cast(target, DType::kI64);
  const bool ignores = n.has_attribute("ignore_index");
  ValueId kept;
  if (ignores) {
    const ValueId ignored = b.compare(CompareKind::kEq, index,
                                      b.scalar_integer(DType::kI64, n.integer("ignore_index", 0)));
    kept = b.unary(Op::k_not, ignored);
    index = b.select(ignored, b.scalar_integer(DType::kI64, 0), index);
  }
  const ValueId chosen =
      b.drop_axis(b.gather_elements(log_probability, b.insert_axis(index, 1), 1), 1);
  ValueId factor = weight ? b.gather(*weight, index, 0) : b.filled(dtype, 1, shape);
  if (ignores) factor = b.select(kept, factor, b.scalar(dtype, 0));
  const ValueId loss = b.mul(b.unary(Op::k_neg, chosen), factor);
  // An ignored score may be NaN or infinite: it must not leak through 0 * x.
  const ValueId clean = ignores ? b.select(kept, loss, b.scalar(dtype, 0)) : loss;
  const std::string reduction = n.text("reduction", "mean");
  if (reduction == "none") return clean;
  std::vector<int> all(shape.size());
  std::iota(all.begin(), all.end(), 0);
  const ValueId sum = b.reduce(ReduceKind::kSum, clean, all, false);
  if (reduction == "sum") return sum;
  if (reduction != "mean") throw ModelError(fmt::format("reduction '{}' is not known", reduction));
  return b.div(sum, b.reduce(ReduceKind::kSum, factor, all, false));
}

std::optional<ValueId> widened_weight(NodeContext& n, DType compute) {
  if (!n.has_input(2)) return {};
  return n.builder().cast(n.input(2), compute);
}

void lower_negative_log_likelihood(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const DType dtype = n.dtype(0);
  const DType compute = compute_type(dtype);
  const ValueId loss = negative_log_likelihood(n, b.cast(n.input(0), compute), n.input(1),
                                               widened_weight(n, compute));
  n.output(0, b.cast(loss, dtype));
}

void lower_softmax_cross_entropy(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const DType dtype = n.dtype(0);
  const DType compute = compute_type(dtype);
  const ValueId log_probability = log_softmax(b, b.cast(n.input(0), compute), {1});
  const ValueId loss =
      negative_log_likelihood(n, log_probability, n.input(1), widened_weight(n, compute));
  n.output(0, b.cast(loss, dtype));
  if (n.wants_output(1)) n.output(1, b.cast(log_probability, dtype));
}

constexpr OperatorRow kRows[] = {
    {"NegativeLogLikelihoodLoss", 12, lower_negative_log_likelihood},
    {"SoftmaxCrossEntropyLoss", 12, lower_softmax_cross_entropy},
};

}  // namespace

std::span<const OperatorRow> loss_operators() { return kRows; }

}  // namespace stitch
