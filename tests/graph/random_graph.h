// Seeded random graphs for property tests: a few hundred shapes of element-wise work, reductions,
// broadcasts and moves, with several outputs.
#pragma once
#include <algorithm>
#include <random>
#include <vector>

#include "graph/graph.h"

namespace stitch {

struct RandomGraphOptions {
  uint32_t seed = 1;
  int nodes = 40;
  int inputs = 3;
  int outputs = 3;
  DType dtype = DType::kF32;
  // Extents of the base shape; values have this shape, its transposition or fewer axes.
  int64_t rows = 6;
  int64_t columns = 10;
};

// Grows a graph one random node at a time from the values that there are.
class RandomGraph {
 public:
  explicit RandomGraph(const RandomGraphOptions& options)
      : options_(options), generator_(options.seed) {}

  Graph make() {
    for (int i = 0; i < options_.inputs; ++i) {
      values_.push_back(graph_.add_input("x" + std::to_string(i), {options_.dtype, base_shape()}));
    }
    for (int i = 0; i < options_.nodes; ++i) values_.push_back(grow());
    for (int i = 0; i < options_.outputs; ++i) {
      graph_.add_output("y" + std::to_string(i), values_[values_.size() - 1 - pick(8)]);
    }
    return std::move(graph_);
  }

 private:
  size_t pick(size_t count) { return generator_() % count; }
  Shape base_shape() const { return {options_.rows, options_.columns}; }
  ValueId any() { return values_[pick(values_.size())]; }

  ValueId any_of_rank(size_t rank) {
    std::vector<ValueId> fitting;
    std::copy_if(values_.begin(), values_.end(), std::back_inserter(fitting),
                 [&](ValueId value) { return graph_.type(value).shape.size() == rank; });
    return fitting[pick(fitting.size())];
  }

  ValueId grow() {
    switch (pick(10)) {
      case 0:
      case 1:
        return grow_unary();
      case 2:
      case 3:
      case 4:
        return grow_binary();
      case 5:
        return grow_select();
      case 6:
        return grow_reduction();
      case 7:
        return grow_move();
      case 8:
        return grow_with_constant();
      default:
        return grow_pieces();
    }
  }

  ValueId grow_unary() {
    constexpr Op kOps[] = {Op::k_neg, Op::k_abs, Op::k_tanh, Op::k_floor, Op::k_sqrt, Op::k_exp};
    return graph_.add(kOps[pick(std::size(kOps))], {any()});
  }

  // Brings `value` to `shape` by a reduction where it has too many axes and a broadcast where too
  // few; transposes where the extents are swapped.
  ValueId fitted(ValueId value, const Shape& shape) {
    if (graph_.type(value).shape == shape) return value;
    if (graph_.type(value).shape.size() == 2 && shape.size() == 2) {
      value = graph_.add(Op::k_reduce, {value}, ReduceAttributes{ReduceKind::kMax, {1}});
    }
    while (graph_.type(value).shape.size() > 1 ||
           (graph_.type(value).shape.size() == 1 && !(graph_.type(value).shape[0] == shape[0]))) {
      value = graph_.add(Op::k_reduce, {value}, ReduceAttributes{ReduceKind::kMin, {0}});
    }
    const ValueType type{options_.dtype, shape};
    BroadcastAttributes broadcast;
    if (!graph_.type(value).shape.empty()) broadcast.axes = {0};
    return graph_.add(Op::k_broadcast, {value}, broadcast, {}, &type);
  }

  ValueId grow_binary() {
    constexpr Op kOps[] = {Op::k_add, Op::k_sub, Op::k_mul, Op::k_min, Op::k_max, Op::k_div};
    const ValueId a = any();
    return graph_.add(kOps[pick(std::size(kOps))], {a, fitted_to(any(), a)});
  }

  ValueId fitted_to(ValueId value, ValueId like) {
    const Shape shape = graph_.type(like).shape;
    if (shape.empty()) {
      while (!graph_.type(value).shape.empty()) {
        value = graph_.add(Op::k_reduce, {value}, ReduceAttributes{ReduceKind::kMax, {0}});
      }
      return value;
    }
    return fitted(value, shape);
  }

  ValueId grow_select() {
    const ValueId a = any();
    const ValueId b = fitted_to(any(), a);
    const auto kind = static_cast<CompareKind>(pick(3));
    const ValueId condition = graph_.add(Op::k_compare, {a, b}, CompareAttributes{kind});
    return graph_.add(Op::k_select, {condition, b, fitted_to(any(), a)});
  }

  ValueId grow_reduction() {
    const ValueId value = any();
    const int rank = static_cast<int>(graph_.type(value).shape.size());
    if (rank == 0) return grow_unary();
    const auto kind = static_cast<ReduceKind>(pick(4));
    const int axis = static_cast<int>(pick(static_cast<size_t>(rank)));
    return graph_.add(Op::k_reduce, {value}, ReduceAttributes{kind, {axis}});
  }

  ValueId grow_move() {
    const ValueId value = any_of_rank(2);
    const Shape shape = graph_.type(value).shape;
    if (pick(3) == 0) return graph_.add(Op::k_transpose, {value}, TransposeAttributes{{1, 0}});
    if (pick(2) == 0) return graph_.add(Op::k_reverse, {value}, ReverseAttributes{{1}});
    // There and back again through one axis.
    const ValueType flat{options_.dtype, {shape[0] * shape[1]}};
    const ValueType whole{options_.dtype, shape};
    const ValueId line = graph_.add(Op::k_reshape, {value}, {}, {}, &flat);
    return graph_.add(Op::k_reshape, {graph_.add(Op::k_neg, {line})}, {}, {}, &whole);
  }

  ValueId grow_with_constant() {
    constexpr double kValues[] = {0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0, -7.5};
    constexpr Op kOps[] = {Op::k_add, Op::k_sub, Op::k_mul, Op::k_div, Op::k_max};
    const ValueId value = any();
    const ValueId constant =
        graph_.add_constant(Tensor::scalar(options_.dtype, kValues[pick(std::size(kValues))]));
    return graph_.add(kOps[pick(std::size(kOps))], {value, fitted_to(constant, value)});
  }

  // Cuts a value in two along its last axis and joins the halves the other way round.
  ValueId grow_pieces() {
    const ValueId value = any_of_rank(2);
    const Shape shape = graph_.type(value).shape;
    const int64_t cut = shape[1].constant() / 2;
    const ValueId low =
        graph_.add(Op::k_slice, {value}, SliceAttributes{{0, 0}, {shape[0], cut}, {1, 1}});
    const ValueId high =
        graph_.add(Op::k_slice, {value}, SliceAttributes{{0, cut}, {shape[0], shape[1]}, {1, 1}});
    return graph_.add(Op::k_concat, {high, low}, AxisAttributes{1});
  }

  RandomGraphOptions options_;
  std::mt19937 generator_;
  Graph graph_;
  std::vector<ValueId> values_;
};

inline Graph random_graph(const RandomGraphOptions& options) { return RandomGraph(options).make(); }

}  // namespace stitch
