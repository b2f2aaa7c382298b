// Reference execution of a graph on the host: the meaning of every primitive.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace stitch {

enum class EvaluationPrecision : uint8_t {
  kNative,  // every value is rounded to its dtype; accumulation as numerics.md 3
  kF64,     // floating values are kept as f64 throughout; casts between float types keep f64
};

// Tensors by input name. Returns the outputs in the graph's order; with kF64 floating outputs are
// f64. All dims must be constant. ModelError when an input is missing or of another type.
std::vector<Tensor> evaluate(const Graph& graph, const std::map<std::string, Tensor>& inputs,
                             EvaluationPrecision precision);

// One node on constant operands in native precision; used by constant folding.
std::vector<Tensor> evaluate_node(const Graph& graph, NodeId node,
                                  const std::vector<Tensor>& operands);

}  // namespace stitch
