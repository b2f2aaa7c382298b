// Result types of a primitive from the types of its operands: the rules of shape inference.
#pragma once
#include <span>
#include <vector>

#include "graph/graph.h"

namespace stitch {

// ModelError with what was expected and what was found when the operands do not fit the op.
// `given` is the caller's type for ops whose result cannot be inferred (see Graph::add_node).
std::vector<ValueType> infer_types(Op op, std::span<const ValueType> operands,
                                   const Attributes& attributes, const ValueType* given);

}  // namespace stitch
