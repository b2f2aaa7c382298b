// The activation functions that RNN, LSTM and GRU nodes name.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "frontend/primitive_builder.h"

namespace stitch {

class NodeContext;

using RecurrentActivation = std::function<ValueId(PrimitiveBuilder&, ValueId)>;

// Those of the node, or `absent` for each direction in turn. activation_alpha and activation_beta
// are consumed in order by the functions that have such a parameter.
std::vector<RecurrentActivation> recurrent_activations(const NodeContext& n,
                                                       std::vector<std::string> absent);

}  // namespace stitch
