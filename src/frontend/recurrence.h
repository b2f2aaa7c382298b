// What RNN, LSTM and GRU have in common: operands by direction, the walk over time, the results.
// The steps are unrolled: the graph has no loops.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "frontend/primitive_builder.h"

namespace stitch {

class NodeContext;

// Operands of one direction, in the type of the computation.
struct RecurrentWeights {
  ValueId input;                                      // [gates * hidden, inputs]
  ValueId recurrent;                                  // [gates * hidden, hidden]
  std::optional<ValueId> input_bias, recurrent_bias;  // [gates * hidden]
  size_t direction = 0;
};

struct RecurrentState {
  ValueId hidden;
  ValueId cell;  // LSTM only
};

// One step of one direction: the projected input [batch, gates * hidden] and the state before it.
using RecurrentStep = std::function<RecurrentState(const RecurrentWeights&, ValueId projected,
                                                   const RecurrentState&)>;

// x, [..., inputs], times the weights of a direction: [..., gates * hidden].
using RecurrentProduct =
    std::function<ValueId(ValueId x, const RecurrentWeights& weights, bool recurrent)>;

struct RecurrenceRule {
  int64_t gates = 1;
  bool has_cell = false;
  // Weights are integers and already transposed: [inputs, gates * hidden].
  bool quantised = false;
  // The recurrent bias is added to the projected input, except where the step wants it apart.
  bool separate_recurrent_bias = false;
  RecurrentProduct product;
  RecurrentStep step;
};

// Sets the outputs Y, Y_h and, with cells, Y_c.
void lower_recurrence(NodeContext& n, const RecurrenceRule& rule);

// x times the transpose of the weights: the product of float operands.
ValueId float_product(PrimitiveBuilder& b, ValueId x, const RecurrentWeights& weights,
                      bool recurrent);

// Rows [first, first + count) of a gate block along the last axis: gate `index` of `hidden` each.
ValueId gate(PrimitiveBuilder& b, ValueId gates, int64_t index, int64_t hidden);

}  // namespace stitch
