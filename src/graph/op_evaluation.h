// The evaluator's parts, by op class: each computes one node on tensors in working types.
#pragma once
#include <span>
#include <vector>

#include "graph/evaluate.h"
#include "graph/graph.h"
#include "graph/working_type.h"

namespace stitch {

// One node with its operands; results carry working dtypes and are not yet rounded to half types.
struct OpCall {
  Op op;
  const Attributes& attributes;
  std::span<const Tensor> operands;
  std::vector<DType> operand_dtypes;  // of the graph, not the working ones
  DType result_dtype;                 // likewise, of the first result
  std::vector<int64_t> result_extents;
  EvaluationPrecision precision;

  const Tensor& operand(size_t i) const { return operands[i]; }
  // A zero tensor of the first result's extents and working type.
  Tensor make_result() const {
    return Tensor(working_dtype(result_dtype, precision), result_extents);
  }
  template <class T>
  const T& as() const {
    return attributes_as<T>(attributes);
  }
};

Tensor evaluate_unary(const OpCall& call);
Tensor evaluate_binary(const OpCall& call);
Tensor evaluate_choice(const OpCall& call);      // compare, select
Tensor evaluate_conversion(const OpCall& call);  // cast, bitcast
Tensor evaluate_generator(const OpCall& call);
Tensor evaluate_movement(const OpCall& call);
Tensor evaluate_indexed(const OpCall& call);
Tensor evaluate_reduce(const OpCall& call);
Tensor evaluate_argreduce(const OpCall& call);
Tensor evaluate_window(const OpCall& call);
Tensor evaluate_cumulative(const OpCall& call);
std::vector<Tensor> evaluate_top_k(const OpCall& call);
Tensor evaluate_matmul(const OpCall& call);
Tensor evaluate_conv(const OpCall& call);

// Extents before, at and behind an axis, multiplied up: the element (o, i, j) of an axis view is at
// (o * axis + i) * inner + j.
struct AxisView {
  int64_t outer = 1, axis = 1, inner = 1;
};
inline AxisView view_along(const std::vector<int64_t>& extents, int axis) {
  AxisView view;
  for (size_t i = 0; i < extents.size(); ++i) {
    const auto position = static_cast<int>(i);
    (position < axis ? view.outer : position == axis ? view.axis : view.inner) *= extents[i];
  }
  return view;
}

}  // namespace stitch
