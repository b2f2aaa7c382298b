#include "frontend/recurrence.h"

#include <fmt/format.h>

#include "frontend/node_context.h"
#include "graph/error.h"

namespace stitch {
namespace {

constexpr int64_t kMostSteps = 1024;  // unrolled

// Inputs by position; the same for the three operators, which lack the later ones.
enum Input : size_t { kX, kW, kR, kBias, kLengths, kInitialHidden, kInitialCell };

struct Extents {
  int64_t steps, batch, hidden;
  size_t directions;
};

class Recurrence {
 public:
  Recurrence(NodeContext& n, const RecurrenceRule& rule)
      : n_(n), b_(n.builder()), rule_(rule), dtype_(n.dtype(kX)), compute_(compute_type(dtype_)) {
    batch_first_ = n.integer("layout", 0) != 0;
    x_ = b_.cast(n.input(kX), compute_);
    if (b_.rank(x_) != 3) throw ModelError(fmt::format("input 0 has rank {}", b_.rank(x_)));
    if (batch_first_) x_ = b_.transpose(x_, {1, 0, 2});
    const std::vector<int64_t> recurrent = constant_extents(n.shape(kR));
    if (recurrent.size() != 3) throw ModelError("input 2 does not have rank 3");
    extents_ = {.steps = b_.dim(x_, 0).constant(),
                .batch = b_.dim(x_, 1).constant(),
                .hidden = recurrent[rule.quantised ? 1 : 2],
                .directions = static_cast<size_t>(recurrent[0])};
    if (recurrent[rule.quantised ? 2 : 1] != rule.gates * extents_.hidden) {
      throw ModelError(fmt::format("recurrent weights of shape {}, expected {} gates of {}",
                                   to_string(n.shape(kR)), rule.gates, extents_.hidden));
    }
    if (extents_.steps > kMostSteps) {
      throw ModelError(
          fmt::format("{} steps; at most {} are unrolled", extents_.steps, kMostSteps));
    }
    if (extents_.steps == 0) throw ModelError("it has no steps");
  }

  void run() {
    const std::string direction = n_.text("direction", "forward");
    std::vector<ValueId> outputs, hidden, cells;
    for (size_t d = 0; d < extents_.directions; ++d) {
      const bool reverse = direction == "reverse" || d == 1;
      const Walk walk = walk_over_time(weights_of(d), reverse);
      outputs.push_back(b_.concat(walk.outputs, 0));  // [steps, 1, batch, hidden]
      hidden.push_back(b_.insert_axis(walk.last.hidden, 0));
      if (rule_.has_cell) cells.push_back(b_.insert_axis(walk.last.cell, 0));
    }
    const ValueId y = b_.cast(b_.concat(outputs, 1), dtype_);
    n_.output(0, batch_first_ ? b_.transpose(y, {2, 0, 1, 3}) : y);
    const auto state = [&](const std::vector<ValueId>& parts) {
      const ValueId joined = b_.cast(b_.concat(parts, 0), dtype_);
      return batch_first_ ? b_.transpose(joined, {1, 0, 2}) : joined;
    };
    if (n_.wants_output(1)) n_.output(1, state(hidden));
    if (rule_.has_cell && n_.wants_output(2)) n_.output(2, state(cells));
  }

 private:
  struct Walk {
    std::vector<ValueId> outputs;  // by time
    RecurrentState last;
  };

  // Entry d of the first axis, without it.
  ValueId of_direction(ValueId x, size_t d) {
    const auto at = static_cast<int64_t>(d);
    return b_.drop_axis(b_.slice_axis(x, 0, Dim(at), Dim(at + 1)), 0);
  }

  RecurrentWeights weights_of(size_t d) {
    RecurrentWeights w;
    w.direction = d;
    const auto weights = [&](size_t input) {
      return rule_.quantised ? n_.input(input) : b_.cast(n_.input(input), compute_);
    };
    w.input = of_direction(weights(kW), d);
    w.recurrent = of_direction(weights(kR), d);
    if (n_.has_input(kBias)) {
      const ValueId both = of_direction(b_.cast(n_.input(kBias), compute_), d);
      const Dim half(rule_.gates * extents_.hidden);
      w.input_bias = b_.slice_axis(both, 0, Dim(0), half);
      w.recurrent_bias = b_.slice_axis(both, 0, half, b_.dim(both, 0));
    }
    return w;
  }

  ValueId initial(size_t input, size_t d) {
    const Shape shape = {extents_.batch, extents_.hidden};
    if (!n_.has_input(input)) return b_.filled(compute_, 0, shape);
    ValueId x = b_.cast(n_.input(input), compute_);
    if (batch_first_) x = b_.transpose(x, {1, 0, 2});
    return of_direction(x, d);
  }

  // The inputs of all steps times the weights, one matmul.
  ValueId project(const RecurrentWeights& w) {
    ValueId projected = rule_.product(x_, w, false);
    if (w.input_bias) projected = b_.add(projected, *w.input_bias);
    if (w.recurrent_bias && !rule_.separate_recurrent_bias) {
      projected = b_.add(projected, *w.recurrent_bias);
    }
    return projected;
  }

  // Steps beyond a sequence's length write 0 and leave the state; a reverse walk over all steps
  // thus starts at length - 1.
  Walk walk_over_time(const RecurrentWeights& w, bool reverse) {
    Walk walk;
    walk.outputs.resize(static_cast<size_t>(extents_.steps));
    walk.last.hidden = initial(kInitialHidden, w.direction);
    if (rule_.has_cell) walk.last.cell = initial(kInitialCell, w.direction);
    const ValueId projected = project(w);
    for (int64_t i = 0; i < extents_.steps; ++i) {
      const int64_t t = reverse ? extents_.steps - 1 - i : i;
      const ValueId input = b_.drop_axis(b_.slice_axis(projected, 0, Dim(t), Dim(t + 1)), 0);
      RecurrentState next = rule_.step(w, input, walk.last);
      ValueId output = next.hidden;
      if (n_.has_input(kLengths)) {
        const ValueId lengths = n_.input(kLengths);
        const ValueId valid = b_.insert_axis(
            b_.compare(CompareKind::kLt, b_.scalar_integer(b_.dtype(lengths), t), lengths), 1);
        output = b_.select(valid, next.hidden, b_.scalar(compute_, 0));
        next.hidden = b_.select(valid, next.hidden, walk.last.hidden);
        if (rule_.has_cell) next.cell = b_.select(valid, next.cell, walk.last.cell);
      }
      walk.outputs[static_cast<size_t>(t)] =
          b_.reshape(output, {1, 1, extents_.batch, extents_.hidden});
      walk.last = next;
    }
    return walk;
  }

  NodeContext& n_;
  PrimitiveBuilder& b_;
  const RecurrenceRule& rule_;
  DType dtype_, compute_;
  bool batch_first_ = false;
  ValueId x_;
  Extents extents_{};
};

}  // namespace

void lower_recurrence(NodeContext& n, const RecurrenceRule& rule) { Recurrence(n, rule).run(); }

ValueId float_product(PrimitiveBuilder& b, ValueId x, const RecurrentWeights& weights,
                      bool recurrent) {
  return b.matmul(x, b.transpose(recurrent ? weights.recurrent : weights.input, {1, 0}));
}

ValueId gate(PrimitiveBuilder& b, ValueId gates, int64_t index, int64_t hidden) {
  const int axis = static_cast<int>(b.rank(gates)) - 1;
  return b.slice_axis(gates, axis, Dim(index * hidden), Dim((index + 1) * hidden));
}

}  // namespace stitch
