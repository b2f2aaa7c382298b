#include "planner/workload_graph.h"

#include <algorithm>
#include <array>
#include <random>
#include <utility>
#include <vector>

namespace stitch {
namespace {

// Rows and columns: batches of rows, few long rows, many short ones, one row.
constexpr std::array<std::pair<int64_t, int64_t>, 9> kShapes = {{{4096, 1024},
                                                                 {128, 1024},
                                                                 {8192, 64},
                                                                 {64, 30000},
                                                                 {16, 512},
                                                                 {512, 512},
                                                                 {1, 50000},
                                                                 {30000, 24},
                                                                 {256, 4096}}};

class WorkloadMaker {
 public:
  explicit WorkloadMaker(uint32_t seed) : random_(seed) {}

  Graph make(int nodes) {
    const auto& [rows, columns] = kShapes[pick(kShapes.size())];
    rows_ = rows;
    columns_ = columns;
    for (size_t i = 0; i < 1 + pick(2); ++i) add_input({rows, columns});
    add_input({columns});
    add_input({rows, 1});
    while (made_ < nodes) step();
    finish();
    return std::move(graph_);
  }

 private:
  using Extents = std::vector<int64_t>;

  size_t pick(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }
  bool chance(int percent) { return static_cast<int>(pick(100)) < percent; }

  static ValueType type(const Extents& extents) {
    ValueType type{DType::kF32, {}};
    for (const int64_t extent : extents) type.shape.push_back(extent);
    return type;
  }
  Extents extents(ValueId value) const { return constant_extents(graph_.type(value).shape); }

  void add_input(const Extents& shape) {
    values_.push_back(graph_.add_input("x" + std::to_string(values_.size()), type(shape)));
  }

  // Mostly one of the last three values: models are chains.
  ValueId recent() {
    const size_t inputs = values_.size() - static_cast<size_t>(made_);
    if (made_ == 0 || !chance(75)) return values_[pick(values_.size())];
    const size_t last = std::min<size_t>(static_cast<size_t>(made_), 3);
    return values_[std::max(inputs, values_.size() - last) + pick(last)];
  }

  // The value at every point of [rows, columns].
  ValueId spread(ValueId value) {
    const Extents shape = extents(value);
    if (shape == Extents{rows_, columns_}) return value;
    BroadcastAttributes attributes;
    if (shape.size() == 2) {
      attributes.axes = {0, 1};
    } else {
      attributes.axes = {1};
    }
    const ValueType whole = type({rows_, columns_});
    return graph_.add(Op::k_broadcast, {value}, attributes, {}, &whole);
  }

  void keep(ValueId value) {
    values_.push_back(value);
    ++made_;
  }

  void step() {
    const ValueId x = recent();
    const size_t kind = pick(100);
    if (kind < 36) return combine(x, values_[pick(values_.size())]);
    if (kind < 62) return apply(x);
    if (kind < 84) return reduce(x);
    if (kind < 94) return roll(x);
    transpose(x);
  }

  void combine(ValueId x, ValueId y) {
    constexpr std::array kOps = {Op::k_add, Op::k_mul, Op::k_sub, Op::k_div};
    if (extents(x) != extents(y)) {
      x = spread(x);
      y = spread(y);
    }
    keep(graph_.add(kOps[pick(kOps.size())], {x, y}));
  }

  void apply(ValueId x) {
    constexpr std::array kOps = {Op::k_exp, Op::k_tanh, Op::k_neg, Op::k_abs, Op::k_sqrt};
    keep(graph_.add(kOps[pick(kOps.size())], {x}));
  }

  // Kept dims have extent 1, as ONNX's reductions keep them.
  void reduce(ValueId x) {
    Extents shape = extents(x);
    if (shape.size() != 2) return;
    ReduceAttributes attributes;
    attributes.kind = chance(70) ? ReduceKind::kSum : ReduceKind::kMax;
    attributes.axes = chance(60)   ? std::vector<int>{1}
                      : chance(70) ? std::vector<int>{0}
                                   : std::vector<int>{0, 1};
    for (const int axis : attributes.axes) {
      if (shape[static_cast<size_t>(axis)] == 1) return;
      shape[static_cast<size_t>(axis)] = 1;
    }
    const ValueId reduced = graph_.add(Op::k_reduce, {x}, attributes);
    const ValueType kept = type(shape);
    keep(graph_.add(Op::k_reshape, {reduced}, {}, {}, &kept));
  }

  // Halves of the rows change places, as in rotary embeddings.
  void roll(ValueId x) {
    const Extents shape = extents(x);
    if (shape != Extents{rows_, columns_} || columns_ % 2 != 0) return;
    const auto half = [&](int64_t start) {
      SliceAttributes slice;
      slice.starts = {0, start};
      slice.limits = {rows_, start + columns_ / 2};
      slice.steps = {1, 1};
      return graph_.add(Op::k_slice, {x}, slice);
    };
    const ValueId right = half(columns_ / 2), left = half(0);
    const ValueId rolled = graph_.add(Op::k_concat, {right, left}, AxisAttributes{1});
    keep(graph_.add(Op::k_mul, {rolled, x}));
  }

  void transpose(ValueId x) {
    if (rows_ != columns_ || extents(x) != Extents{rows_, columns_}) return;
    TransposeAttributes swap;
    swap.perm = {1, 0};
    keep(graph_.add(Op::k_add, {graph_.add(Op::k_transpose, {x}, swap), x}));
  }

  // What nothing reads is an output, and now and then another value.
  void finish() {
    for (size_t v = values_.size() - static_cast<size_t>(made_); v < values_.size(); ++v) {
      if (!graph_.value(values_[v]).uses.empty() && !chance(8)) continue;
      graph_.add_output("y" + std::to_string(v), values_[v]);
    }
  }

  std::mt19937 random_;
  Graph graph_;
  std::vector<ValueId> values_;  // inputs first
  int made_ = 0;
  int64_t rows_ = 0, columns_ = 0;
};

}  // namespace

Graph make_workload_graph(uint32_t seed, int nodes) { return WorkloadMaker(seed).make(nodes); }

}  // namespace stitch
