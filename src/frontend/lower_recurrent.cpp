// RNN, LSTM, GRU: the step of each (operators.md 4.7).
#include <optional>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "frontend/quantisation.h"
#include "frontend/recurrence.h"
#include "frontend/recurrent_activations.h"

namespace stitch {
namespace {

int64_t hidden_of(NodeContext& n) { return n.shape(2).back().constant(); }

std::vector<std::string> for_each_direction(NodeContext& n, std::vector<std::string> names) {
  const std::vector<std::string> once = names;
  if (n.text("direction", "forward") == "bidirectional") {
    names.insert(names.end(), once.begin(), once.end());
  }
  return names;
}

ValueId clipped(NodeContext& n, ValueId x) {
  if (!n.has_attribute("clip")) return x;
  PrimitiveBuilder& b = n.builder();
  const double bound = n.number("clip", 0);
  return b.binary(Op::k_min, b.binary(Op::k_max, x, -bound), bound);
}

RecurrentProduct float_products(PrimitiveBuilder& b) {
  return [&b](ValueId x, const RecurrentWeights& weights, bool recurrent) {
    return float_product(b, x, weights, recurrent);
  };
}

void lower_rnn(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const auto activations = recurrent_activations(n, for_each_direction(n, {"Tanh"}));
  RecurrenceRule rule;
  rule.product = float_products(b);
  rule.step = [&](const RecurrentWeights& w, ValueId projected, const RecurrentState& s) {
    const ValueId sum = b.add(projected, rule.product(s.hidden, w, true));
    return RecurrentState{activations.at(w.direction)(b, clipped(n, sum)), {}};
  };
  lower_recurrence(n, rule);
}

// Gates i, o, f, c; peepholes i, o, f.
void lower_lstm(NodeContext& n, RecurrenceRule rule, int64_t hidden) {
  PrimitiveBuilder& b = n.builder();
  const auto activations =
      recurrent_activations(n, for_each_direction(n, {"Sigmoid", "Tanh", "Tanh"}));
  const bool input_forget = n.integer("input_forget", 0) != 0;
  constexpr size_t kPeepholes = 7;
  rule.gates = 4;
  rule.has_cell = true;
  rule.step = [&](const RecurrentWeights& w, ValueId projected, const RecurrentState& s) {
    const ValueId gates = b.add(projected, rule.product(s.hidden, w, true));
    const auto activation = [&](size_t i, ValueId x) {
      return activations.at(3 * w.direction + i)(b, clipped(n, x));
    };
    const auto peeped = [&](int64_t index, ValueId x, ValueId cell) {
      if (!n.has_input(kPeepholes)) return x;
      const auto d = static_cast<int64_t>(w.direction);
      const ValueId all = b.cast(n.input(kPeepholes), b.dtype(x));
      const ValueId own = b.drop_axis(b.slice_axis(all, 0, Dim(d), Dim(d + 1)), 0);
      return b.add(x, b.mul(gate(b, own, index, hidden), cell));
    };
    const ValueId in = activation(0, peeped(0, gate(b, gates, 0, hidden), s.cell));
    const ValueId forget =
        input_forget ? b.sub(1.0, in) : activation(0, peeped(2, gate(b, gates, 2, hidden), s.cell));
    const ValueId candidate = activation(1, gate(b, gates, 3, hidden));
    RecurrentState next;
    next.cell = b.add(b.mul(forget, s.cell), b.mul(in, candidate));
    const ValueId out = activation(0, peeped(1, gate(b, gates, 1, hidden), next.cell));
    // The output activation is not clipped: clip bounds the inputs of the gates.
    next.hidden = b.mul(out, activations.at(3 * w.direction + 2)(b, next.cell));
    return next;
  };
  lower_recurrence(n, rule);
}

void lower_float_lstm(NodeContext& n) {
  RecurrenceRule rule;
  rule.product = float_products(n.builder());
  lower_lstm(n, rule, hidden_of(n));
}

// com.microsoft: integer weights; the input as a whole and the state of each step are quantised
// by their own ranges. Inputs from 8 on: scale and zero point of W, then of R.
void lower_dynamic_quantize_lstm(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  RecurrenceRule rule;
  rule.quantised = true;
  rule.product = [&](ValueId x, const RecurrentWeights& w, bool recurrent) {
    const size_t scale_input = recurrent ? 10 : 8;
    const auto d = static_cast<int64_t>(w.direction);
    const auto own = [&](size_t input) {
      return b.drop_axis(b.slice_axis(n.input(input), 0, Dim(d), Dim(d + 1)), 0);
    };
    const DynamicQuantisation q = quantise_dynamically(b, x);
    const ValueId weights = less_zero_point(
        b, recurrent ? w.recurrent : w.input,
        n.has_input(scale_input + 1) ? std::optional(own(scale_input + 1)) : std::nullopt);
    const ValueId sum = b.matmul(less_zero_point(b, q.value, q.zero_point), weights);
    return b.mul(b.cast(sum, DType::kF32), b.mul(own(scale_input), q.scale));
  };
  const int64_t hidden = n.shape(2).at(1).constant();
  lower_lstm(n, rule, hidden);
}

// Gates z, r, h. With linear_before_reset the reset gate acts after the recurrent product.
void lower_gru(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const int64_t hidden = hidden_of(n);
  const auto activations = recurrent_activations(n, for_each_direction(n, {"Sigmoid", "Tanh"}));
  const bool linear_before_reset = n.integer("linear_before_reset", 0) != 0;
  RecurrenceRule rule;
  rule.gates = 3;
  rule.separate_recurrent_bias = true;
  rule.product = float_products(b);
  rule.step = [&](const RecurrentWeights& w, ValueId projected, const RecurrentState& s) {
    const auto activation = [&](size_t i, ValueId x) {
      return activations.at(2 * w.direction + i)(b, clipped(n, x));
    };
    const auto biased = [&](ValueId x, int64_t first, int64_t limit) {
      if (!w.recurrent_bias) return x;
      return b.add(x, b.slice_axis(*w.recurrent_bias, 0, Dim(first * hidden), Dim(limit * hidden)));
    };
    const auto product = [&](ValueId x, int64_t first, int64_t limit) {
      const ValueId rows = b.slice_axis(w.recurrent, 0, Dim(first * hidden), Dim(limit * hidden));
      return b.matmul(x, b.transpose(rows, {1, 0}));
    };
    // One product for all gates that multiply the state itself.
    const int64_t direct = linear_before_reset ? 3 : 2;
    const ValueId state = biased(product(s.hidden, 0, direct), 0, direct);
    const ValueId update =
        activation(0, b.add(gate(b, projected, 0, hidden), gate(b, state, 0, hidden)));
    const ValueId reset =
        activation(0, b.add(gate(b, projected, 1, hidden), gate(b, state, 1, hidden)));
    const ValueId recalled = linear_before_reset
                                 ? b.mul(reset, gate(b, state, 2, hidden))
                                 : biased(product(b.mul(reset, s.hidden), 2, 3), 2, 3);
    const ValueId candidate = activation(1, b.add(gate(b, projected, 2, hidden), recalled));
    const ValueId kept = b.mul(update, s.hidden);
    return RecurrentState{b.add(b.mul(b.sub(1.0, update), candidate), kept), {}};
  };
  lower_recurrence(n, rule);
}

constexpr OperatorRow kRows[] = {
    {"GRU", 7, lower_gru},
    {"LSTM", 7, lower_float_lstm},
    {"RNN", 7, lower_rnn},
    {"DynamicQuantizeLSTM", 1, lower_dynamic_quantize_lstm, "com.microsoft"},
};

}  // namespace

std::span<const OperatorRow> recurrent_operators() { return kRows; }

}  // namespace stitch
