#include "planner/random_graph.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace stitch {
namespace {

constexpr int64_t kMostElements = 400;

class GraphMaker {
 public:
  explicit GraphMaker(uint32_t seed) : random_(seed) {}

  RandomGraph make(int steps) {
    for (int i = 0; i < 2; ++i) add_input(random_shape());
    while (static_cast<int>(made_.graph.node_count()) < steps) step();
    for (int i = 0; i < 3; ++i) {
      made_.graph.add_output("y" + std::to_string(i), pick_value());
    }
    made_.graph.add_output("last", values_.back());
    return std::move(made_);
  }

 private:
  using Extents = std::vector<int64_t>;

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  size_t pick_index(size_t size) {
    return static_cast<size_t>(pick(0, std::ssize(Extents(size)) - 1));
  }
  ValueId pick_value() { return values_[pick_index(values_.size())]; }
  Extents extents(ValueId value) { return constant_extents(made_.graph.type(value).shape); }
  int64_t count(const Extents& shape) {
    return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  }
  Extents random_shape() {
    Extents shape(static_cast<size_t>(pick(1, 4)));
    for (int64_t& extent : shape) extent = pick(0, 5) == 0 ? 1 : pick(2, 6);
    while (count(shape) > kMostElements) shape[pick_index(shape.size())] = 1;
    return shape;
  }
  ValueType type(DType dtype, const Extents& shape) {
    ValueType result{dtype, {}};
    for (const int64_t extent : shape) result.shape.push_back(extent);
    return result;
  }
  Tensor random_data(const Extents& shape) {
    Tensor tensor(DType::kF64, shape);
    for (int64_t i = 0; i < tensor.element_count(); ++i) {
      tensor.set_real(i, static_cast<double>(pick(-3, 3)));
    }
    return tensor;
  }
  ValueId add_input(const Extents& shape) {
    const std::string name = "x" + std::to_string(made_.inputs.size());
    made_.inputs.emplace(name, random_data(shape));
    values_.push_back(made_.graph.add_input(name, type(DType::kF64, shape)));
    return values_.back();
  }
  ValueId constant(const Extents& shape) { return made_.graph.add_constant(random_data(shape)); }
  // Indices below `bound`, some of them negative; sometimes an arithmetic sequence.
  ValueId indices(const Extents& shape, int64_t bound, bool may_leave = false) {
    std::vector<int64_t> data;
    const bool affine = pick(0, 3) == 0;
    for (int64_t i = 0; i < count(shape); ++i) {
      const int64_t extra = may_leave ? 1 : 0;
      data.push_back(affine ? i % bound : pick(-bound - extra, bound - 1 + extra));
    }
    return made_.graph.add_constant(Tensor::of_integers(DType::kI64, data).reshaped(shape));
  }
  ValueId add(Op op, std::vector<ValueId> operands, Attributes attributes = {},
              const ValueType* given = nullptr) {
    return made_.graph.add(op, std::move(operands), std::move(attributes), {}, given);
  }
  void keep(ValueId value) {
    if (count(extents(value)) <= kMostElements) values_.push_back(value);
  }

  void step();
  ValueId partner(ValueId x);
  void elementwise(ValueId x);
  void reshape(ValueId x);
  void broadcast(ValueId x);
  void transpose(ValueId x);
  void slice(ValueId x);
  void reverse(ValueId x);
  void pad(ValueId x);
  void concat(ValueId x);
  void gather(ValueId x);
  void gather_elements(ValueId x);
  void gather_nd(ValueId x);
  void scatter_elements(ValueId x);
  void scatter_nd(ValueId x);
  void reduce(ValueId x);
  void argreduce(ValueId x);
  void window(ValueId x);
  void cumulative(ValueId x);
  void top_k(ValueId x);
  void matmul(ValueId x);
  void conv(ValueId x);
  void iota(ValueId x);
  // Integers as f64 again, so that they can meet the others.
  ValueId as_f64(ValueId x) {
    const ValueType to = type(DType::kF64, extents(x));
    return add(Op::k_cast, {x}, CastAttributes{}, &to);
  }
  // Keeps magnitudes small: sums and products of a few hundred stay exact.
  ValueId bounded(ValueId x) {
    const Extents shape = extents(x);
    const auto limit = [&](double value) {
      const ValueType to = type(DType::kF64, shape);
      const ValueId scalar = made_.graph.add_constant(Tensor::scalar(DType::kF64, value));
      return add(Op::k_broadcast, {scalar}, BroadcastAttributes{}, &to);
    };
    return add(Op::k_max, {add(Op::k_min, {x, limit(9)}), limit(-9)});
  }

  std::mt19937 random_;
  RandomGraph made_;
  std::vector<ValueId> values_;  // f64
};

void GraphMaker::step() {
  using Maker = void (GraphMaker::*)(ValueId);
  static constexpr Maker kMakers[] = {
      &GraphMaker::elementwise,
      &GraphMaker::elementwise,
      &GraphMaker::elementwise,
      &GraphMaker::reshape,
      &GraphMaker::reshape,
      &GraphMaker::broadcast,
      &GraphMaker::transpose,
      &GraphMaker::slice,
      &GraphMaker::reverse,
      &GraphMaker::pad,
      &GraphMaker::pad,
      &GraphMaker::concat,
      &GraphMaker::concat,
      &GraphMaker::gather,
      &GraphMaker::gather_elements,
      &GraphMaker::gather_nd,
      &GraphMaker::scatter_elements,
      &GraphMaker::scatter_nd,
      &GraphMaker::reduce,
      &GraphMaker::argreduce,
      &GraphMaker::window,
      &GraphMaker::cumulative,
      &GraphMaker::top_k,
      &GraphMaker::matmul,
      &GraphMaker::conv,
      &GraphMaker::iota,
  };
  const ValueId x = pick_value();
  if (extents(x).empty()) return pick(0, 1) == 0 ? elementwise(x) : broadcast(x);
  (this->*kMakers[pick_index(std::size(kMakers))])(x);
}

// A value of the shape of x: an existing one, x in another order, or a constant.
ValueId GraphMaker::partner(ValueId x) {
  std::vector<ValueId> equal;
  for (const ValueId value : values_) {
    if (value != x && extents(value) == extents(x)) equal.push_back(value);
  }
  if (!equal.empty() && pick(0, 3) != 0) return equal[pick_index(equal.size())];
  const Extents shape = extents(x);
  if (shape.size() >= 2 && shape[0] == shape[1] && pick(0, 1) == 0) {
    TransposeAttributes swap;
    swap.perm.resize(shape.size());
    std::iota(swap.perm.begin(), swap.perm.end(), 0);
    std::swap(swap.perm[0], swap.perm[1]);
    return add(Op::k_transpose, {x}, swap);
  }
  return constant(shape);
}

void GraphMaker::elementwise(ValueId x) {
  const ValueId y = partner(x);
  switch (pick(0, 4)) {
    case 0:
      return keep(add(Op::k_add, {x, y}));
    case 1:
      return keep(add(Op::k_sub, {x, y}));
    case 2:
      return keep(bounded(add(Op::k_mul, {x, y})));
    case 3: {
      const ValueId less = add(Op::k_compare, {x, y}, CompareAttributes{CompareKind::kLt});
      return keep(add(Op::k_select, {less, y, x}));
    }
    case 4:
      return keep(add(Op::k_neg, {x}));
  }
}

void GraphMaker::reshape(ValueId x) {
  int64_t left = count(extents(x));
  Extents shape;
  while (left > 1 && shape.size() < 3) {
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= left; ++d) {
      if (left % d == 0) divisors.push_back(d);
    }
    shape.push_back(divisors[pick_index(divisors.size())]);
    left /= shape.back();
  }
  shape.push_back(left);
  const ValueType to = type(DType::kF64, shape);
  keep(add(Op::k_reshape, {x}, {}, &to));
}

void GraphMaker::broadcast(ValueId x) {
  const Extents shape = extents(x);
  if (shape.size() > 3) return;
  BroadcastAttributes attributes;
  Extents to;
  const int64_t place = pick(0, std::ssize(shape));
  for (int64_t d = 0; d <= std::ssize(shape); ++d) {
    if (d == place) to.push_back(pick(1, 4));
    if (d == std::ssize(shape)) break;
    attributes.axes.push_back(static_cast<int>(to.size()));
    const int64_t extent = shape[static_cast<size_t>(d)];
    to.push_back(extent == 1 ? pick(1, 3) : extent);
  }
  if (count(to) > kMostElements) return;
  const ValueType result = type(DType::kF64, to);
  keep(add(Op::k_broadcast, {x}, attributes, &result));
}

void GraphMaker::transpose(ValueId x) {
  TransposeAttributes attributes;
  attributes.perm.resize(extents(x).size());
  std::iota(attributes.perm.begin(), attributes.perm.end(), 0);
  std::shuffle(attributes.perm.begin(), attributes.perm.end(), random_);
  keep(add(Op::k_transpose, {x}, attributes));
}

void GraphMaker::slice(ValueId x) {
  SliceAttributes attributes;
  for (const int64_t extent : extents(x)) {
    const int64_t start = pick(0, extent - 1);
    attributes.starts.push_back(start);
    attributes.limits.push_back(pick(start + 1, extent));
    attributes.steps.push_back(pick(1, 3));
  }
  keep(add(Op::k_slice, {x}, attributes));
}

void GraphMaker::reverse(ValueId x) {
  ReverseAttributes attributes;
  for (size_t d = 0; d < extents(x).size(); ++d) {
    if (pick(0, 1) == 0) attributes.axes.push_back(static_cast<int>(d));
  }
  keep(add(Op::k_reverse, {x}, attributes));
}

void GraphMaker::pad(ValueId x) {
  PadAttributes attributes;
  attributes.mode = static_cast<PadMode>(pick(0, 3));
  for (const int64_t extent : extents(x)) {
    // Reflection is defined for less than the extent.
    const int64_t most =
        attributes.mode == PadMode::kReflect ? std::min<int64_t>(extent - 1, 2) : 2;
    attributes.low.push_back(pick(0, 1) == 0 ? 0 : pick(0, most));
    attributes.high.push_back(pick(0, 1) == 0 ? 0 : pick(0, most));
  }
  const ValueId fill = made_.graph.add_constant(Tensor::scalar(DType::kF64, 5));
  keep(add(Op::k_pad, {x, fill}, attributes));
}

void GraphMaker::concat(ValueId x) {
  const int axis = static_cast<int>(pick_index(extents(x).size()));
  std::vector<ValueId> parts;
  const int64_t many = pick(0, 5) == 0 ? pick(5, 9) : pick(2, 3);
  for (int64_t i = 0; i < many; ++i) {
    Extents shape = extents(x);
    if (pick(0, 1) == 0) {
      parts.push_back(partner(x));
    } else {
      shape[static_cast<size_t>(axis)] = pick(1, 3);
      parts.push_back(constant(shape));
    }
  }
  parts[pick_index(parts.size())] = x;
  keep(add(Op::k_concat, parts, AxisAttributes{axis}));
}

void GraphMaker::gather(ValueId x) {
  const Extents shape = extents(x);
  const size_t axis = pick_index(shape.size());
  Extents index(static_cast<size_t>(pick(0, 2)));
  for (int64_t& extent : index) extent = pick(1, 4);
  if (shape.size() + index.size() > 5) return;
  keep(add(Op::k_gather, {x, indices(index, shape[axis])}, AxisAttributes{static_cast<int>(axis)}));
}

void GraphMaker::gather_elements(ValueId x) {
  Extents shape = extents(x);
  const size_t axis = pick_index(shape.size());
  const int64_t bound = shape[axis];
  shape[axis] = pick(1, 5);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d != axis && pick(0, 2) == 0) shape[d] = pick(1, shape[d]);
  }
  keep(add(Op::k_gather_elements, {x, indices(shape, bound)},
           AxisAttributes{static_cast<int>(axis)}));
}

void GraphMaker::gather_nd(ValueId x) {
  const Extents shape = extents(x);
  const int64_t batch = pick(0, std::ssize(shape) - 1);
  const int64_t coordinates = pick(1, std::ssize(shape) - batch);
  Extents index(shape.begin(), shape.begin() + batch);
  index.push_back(pick(1, 4));
  index.push_back(coordinates);
  int64_t bound = shape[static_cast<size_t>(batch)];
  for (int64_t c = 0; c < coordinates; ++c) {
    bound = std::min(bound, shape[static_cast<size_t>(batch + c)]);
  }
  keep(add(Op::k_gather_nd, {x, indices(index, bound)},
           GatherNdAttributes{static_cast<int>(batch)}));
}

void GraphMaker::scatter_elements(ValueId x) {
  Extents shape = extents(x);
  const size_t axis = pick_index(shape.size());
  const int64_t bound = shape[axis];
  for (int64_t& extent : shape) extent = pick(1, extent);
  ScatterAttributes attributes;
  attributes.axis = static_cast<int>(axis);
  attributes.kind = static_cast<ScatterKind>(pick(0, 4));
  keep(bounded(
      add(Op::k_scatter_elements, {x, indices(shape, bound, true), constant(shape)}, attributes)));
}

void GraphMaker::scatter_nd(ValueId x) {
  const Extents shape = extents(x);
  const int64_t coordinates = pick(1, std::ssize(shape));
  Extents index = {pick(1, 4), coordinates};
  Extents update = {index[0]};
  update.insert(update.end(), shape.begin() + coordinates, shape.end());
  const int64_t bound = *std::min_element(shape.begin(), shape.begin() + coordinates);
  ScatterAttributes attributes;
  attributes.kind = static_cast<ScatterKind>(pick(0, 4));
  keep(bounded(
      add(Op::k_scatter_nd, {x, indices(index, bound, true), constant(update)}, attributes)));
}

void GraphMaker::reduce(ValueId x) {
  ReduceAttributes attributes;
  attributes.kind = static_cast<ReduceKind>(pick(0, 1) == 0 ? 0 : pick(2, 3));
  for (size_t d = 0; d < extents(x).size(); ++d) {
    if (pick(0, 1) == 0) attributes.axes.push_back(static_cast<int>(d));
  }
  const ValueId reduced = bounded(add(Op::k_reduce, {x}, attributes));
  keep(reduced);
  // The reduced value meets its row again, as in a softmax.
  BroadcastAttributes back;
  for (size_t d = 0; d < extents(x).size(); ++d) {
    const bool gone = std::find(attributes.axes.begin(), attributes.axes.end(),
                                static_cast<int>(d)) != attributes.axes.end();
    if (!gone) back.axes.push_back(static_cast<int>(d));
  }
  const ValueType to = type(DType::kF64, extents(x));
  keep(add(Op::k_sub, {x, add(Op::k_broadcast, {reduced}, back, &to)}));
}

void GraphMaker::argreduce(ValueId x) {
  ArgReduceAttributes attributes;
  attributes.axis = static_cast<int>(pick_index(extents(x).size()));
  attributes.kind = pick(0, 1) == 0 ? ReduceKind::kMax : ReduceKind::kMin;
  attributes.last = pick(0, 1) == 0;
  keep(as_f64(add(Op::k_argreduce, {x}, attributes)));
}

void GraphMaker::window(ValueId x) {
  const bool arg = pick(0, 1) == 0;
  const Extents shape = extents(x);
  WindowAttributes attributes;
  if (!arg && pick(0, 1) == 0) attributes.kind = ReduceKind::kSum;
  const int64_t dims = pick(1, std::min<int64_t>(2, std::ssize(shape)));
  for (int64_t d = 0; d < dims; ++d) {
    const int64_t extent = shape[static_cast<size_t>(std::ssize(shape) - dims + d)];
    attributes.kernel.push_back(pick(1, std::min<int64_t>(3, extent)));
    attributes.strides.push_back(pick(1, 2));
    const bool spread = attributes.kernel.back() == 2 && extent >= 3 && pick(0, 2) == 0;
    attributes.dilations.push_back(spread ? 2 : 1);
    attributes.low.push_back(pick(0, attributes.kernel.back() - 1));
    attributes.high.push_back(pick(0, attributes.kernel.back() - 1));
  }
  if (arg) return keep(as_f64(add(Op::k_argwindow, {x}, attributes)));
  keep(bounded(add(Op::k_reduce_window, {x}, attributes)));
}

void GraphMaker::cumulative(ValueId x) {
  CumulativeAttributes attributes;
  attributes.axis = static_cast<int>(pick_index(extents(x).size()));
  attributes.exclusive = pick(0, 1) == 0;
  attributes.reverse = pick(0, 1) == 0;
  keep(bounded(add(Op::k_cumulative, {x}, attributes)));
}

void GraphMaker::top_k(ValueId x) {
  TopKAttributes attributes;
  const size_t axis = pick_index(extents(x).size());
  attributes.axis = static_cast<int>(axis);
  attributes.k = pick(1, extents(x)[axis]);
  attributes.largest = pick(0, 1) == 0;
  const NodeId node = made_.graph.add_node(Op::k_top_k, {x}, attributes);
  const std::vector<ValueId> results = made_.graph.node(node).results;
  keep(results[0]);
  keep(as_f64(results[1]));
}

void GraphMaker::matmul(ValueId x) {
  Extents shape = extents(x);
  if (shape.size() < 2) return;
  MatmulAttributes attributes;
  attributes.accumulate = DType::kF64;
  Extents other = shape;
  if (pick(0, 2) == 0) {  // x times its transpose
    TransposeAttributes swap;
    swap.perm.resize(shape.size());
    std::iota(swap.perm.begin(), swap.perm.end(), 0);
    std::swap(swap.perm[shape.size() - 1], swap.perm[shape.size() - 2]);
    return keep(bounded(add(Op::k_matmul, {x, add(Op::k_transpose, {x}, swap)}, attributes)));
  }
  other[shape.size() - 2] = shape.back();
  other.back() = pick(1, 5);
  if (pick(0, 2) == 0) {  // scaled, as queries are
    const ValueType scaled = type(DType::kF64, shape);
    const ValueId two = made_.graph.add_constant(Tensor::scalar(DType::kF64, 2));
    x = add(Op::k_mul, {x, add(Op::k_broadcast, {two}, BroadcastAttributes{}, &scaled)});
  }
  const ValueId product = add(Op::k_matmul, {x, constant(other)}, attributes);
  if (pick(0, 1) == 0) return keep(bounded(product));
  BroadcastAttributes rows;
  rows.axes = {static_cast<int>(shape.size()) - 1};
  const ValueType to = type(DType::kF64, extents(product));
  const ValueId row = add(Op::k_broadcast, {constant({other.back()})}, rows, &to);
  keep(bounded(add(Op::k_add, {product, row})));
}

void GraphMaker::conv(ValueId x) {
  const bool transposed = pick(0, 1) == 0;
  const Extents shape = extents(x);
  if (shape.size() < 3) return;
  ConvAttributes attributes;
  attributes.accumulate = DType::kF64;
  attributes.groups = shape[1] % 2 == 0 && pick(0, 1) == 0 ? 2 : 1;
  if (pick(0, 3) == 0) attributes.groups = shape[1];
  const int64_t out = attributes.groups * pick(1, 2);
  Extents weight = transposed ? Extents{shape[1], out / attributes.groups}
                              : Extents{out, shape[1] / attributes.groups};
  for (size_t d = 2; d < shape.size(); ++d) {
    const int64_t kernel = pick(1, std::min<int64_t>(3, shape[d]));
    weight.push_back(kernel);
    attributes.strides.push_back(pick(1, 2));
    attributes.dilations.push_back(transposed ? pick(1, 2) : 1);
    attributes.low.push_back(pick(0, kernel - 1));
    attributes.high.push_back(pick(0, kernel - 1));
    if (transposed) attributes.output_padding.push_back(pick(0, attributes.strides.back() - 1));
  }
  if (transposed) {
    for (size_t d = 2; d < shape.size(); ++d) {
      const size_t s = d - 2;
      const int64_t extent = attributes.strides[s] * (shape[d] - 1) + attributes.output_padding[s] +
                             (weight[d] - 1) * attributes.dilations[s] + 1 - attributes.low[s] -
                             attributes.high[s];
      if (extent < 1) return;
    }
  }
  keep(bounded(
      add(transposed ? Op::k_conv_transpose : Op::k_conv, {x, constant(weight)}, attributes)));
}

void GraphMaker::iota(ValueId x) {
  const Extents shape = random_shape();
  const ValueType to = type(DType::kI64, shape);
  const int axis = static_cast<int>(pick_index(shape.size()));
  const ValueId counted = add(Op::k_iota, {}, IotaAttributes{axis}, &to);
  keep(as_f64(counted));
  // As an index it needs no tensor at all.
  if (extents(x).size() + shape.size() > 5) return;
  keep(add(Op::k_gather, {x, counted}, AxisAttributes{0}));
}

}  // namespace

RandomGraph make_random_graph(uint32_t seed, int steps) { return GraphMaker(seed).make(steps); }

}  // namespace stitch
