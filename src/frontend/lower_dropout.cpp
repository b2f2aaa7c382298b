// Dropout at inference: the operand, and a mask of ones.
#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "graph/error.h"

namespace stitch {
namespace {

void lower(NodeContext& n, DType mask_dtype) {
  n.output(0, n.imported(0));
  if (n.wants_output(1)) n.output(1, n.builder().filled(mask_dtype, 1, n.shape(0)));
}

void lower_dropout_7(NodeContext& n) { lower(n, n.dtype(0)); }
void lower_dropout_10(NodeContext& n) { lower(n, DType::kBool); }

// Ratio and training_mode became inputs; training at a ratio of 0 drops nothing either.
void lower_dropout_12(NodeContext& n) {
  const bool training = n.has_input(2) && n.known_integer(2) != 0;
  if (training && (!n.has_input(1) || n.known_number(1) != 0)) {
    throw ModelError("dropping at random (training_mode) is not supported");
  }
  lower(n, DType::kBool);
}

constexpr OperatorRow kRows[] = {
    {"Dropout", 6, lower_dropout_7},
    {"Dropout", 10, lower_dropout_10},
    {"Dropout", 12, lower_dropout_12},
};

}  // namespace

std::span<const OperatorRow> dropout_operators() { return kRows; }

}  // namespace stitch
