// GridSample and AffineGrid: coordinates, taps by gather_nd, weights.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "graph/error.h"

namespace stitch {
namespace {

enum class Padding { kZeros, kBorder, kReflection };

struct GridRule {
  Padding padding = Padding::kZeros;
  bool align_corners = false;
};

// Reflects about the borders (low, low + span) as often as it takes; the period is 2 span.
ValueId reflected(PrimitiveBuilder& b, ValueId x, double low, double span) {
  if (span <= 0) return b.filled(b.dtype(x), low, b.shape(x));
  const ValueId from_low = b.unary(Op::k_abs, b.sub(x, low));
  const ValueId turns = b.unary(Op::k_floor, b.div(from_low, span));
  const ValueId rest = b.sub(from_low, b.mul(turns, span));
  const ValueId half = b.mul(turns, 0.5);
  const ValueId even = b.compare(CompareKind::kEq, half, b.unary(Op::k_floor, half));
  return b.add(b.select(even, rest, b.sub(span, rest)), low);
}

// An index (a whole number in float) folded into the axis; what it reads outside is zeroed apart.
ValueId folded_index(PrimitiveBuilder& b, ValueId x, int64_t extent, const GridRule& rule) {
  const auto size = static_cast<double>(extent);
  ValueId inside = x;
  if (rule.padding == Padding::kReflection) {
    inside = rule.align_corners ? reflected(b, x, 0, size - 1) : reflected(b, x, -0.5, size);
  }
  const ValueId clamped = b.binary(Op::k_min, b.binary(Op::k_max, inside, 0.0), size - 1);
  return b.cast(clamped, DType::kI64);
}

struct Tap {
  ValueId index;  // float: position along its axis
  ValueId weight;
};

double cubic_alpha() { return -0.75; }

// The four weights of cubic convolution at distance t from the second tap.
std::vector<ValueId> cubic_weights(PrimitiveBuilder& b, ValueId t) {
  const double a = cubic_alpha();
  const auto near = [&](ValueId x) {
    return b.add(b.mul(b.mul(b.sub(b.mul(x, a + 2), a + 3), x), x), 1.0);
  };
  const auto far = [&](ValueId x) {
    const ValueId inner = b.add(b.mul(b.sub(b.mul(x, a), 5 * a), x), 8 * a);
    return b.sub(b.mul(inner, x), 4 * a);
  };
  return {far(b.add(t, 1.0)), near(t), near(b.sub(1.0, t)), far(b.sub(2.0, t))};
}

std::vector<Tap> taps_along(PrimitiveBuilder& b, ValueId x, const std::string& mode) {
  if (mode == "nearest") return {{b.unary(Op::k_round, x), ValueId()}};
  const ValueId base = b.unary(Op::k_floor, x);
  const ValueId t = b.sub(x, base);
  if (mode == "linear" || mode == "bilinear") {
    return {{base, b.sub(1.0, t)}, {b.add(base, 1.0), t}};
  }
  std::vector<Tap> taps;
  const std::vector<ValueId> weights = cubic_weights(b, t);
  for (size_t k = 0; k < weights.size(); ++k) {
    taps.push_back({b.add(base, static_cast<double>(k) - 1), weights[k]});
  }
  return taps;
}

// x: [n, c, spatial...], grid: [n, out..., d] with coordinates x, y(, z) in [-1, 1].
class GridSampler {
 public:
  GridSampler(NodeContext& n, GridRule rule)
      : b_(n.builder()), rule_(rule), dtype_(n.dtype(0)), compute_(compute_type(dtype_)) {
    const std::vector<int64_t> extents = constant_extents(n.shape(0));
    spatial_.assign(extents.begin() + 2, extents.end());
    const size_t depth = spatial_.size();
    const ValueId grid = b_.cast(n.input(1), compute_);
    const Shape grid_shape = b_.shape(grid);
    if (grid_shape.size() != extents.size() ||
        !(grid_shape.back() == Dim(static_cast<int64_t>(depth)))) {
      throw ModelError(
          fmt::format("a grid of shape {} for {}", to_string(grid_shape), to_string(n.shape(0))));
    }
    // Channels last, so that a tap reads whole pixels.
    std::vector<int> perm(extents.size());
    std::iota(perm.begin(), perm.end(), 0);
    std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
    pixels_ = b_.transpose(b_.cast(n.input(0), compute_), perm);
    const int last = static_cast<int>(grid_shape.size()) - 1;
    for (size_t axis = 0; axis < depth; ++axis) {  // spatial order is the reverse of x, y, z
      const auto at = static_cast<int64_t>(depth - 1 - axis);
      const ValueId unit = b_.drop_axis(b_.slice_axis(grid, last, Dim(at), Dim(at + 1)), last);
      coordinates_.push_back(denormalised(unit, spatial_[axis]));
    }
    points_ = b_.shape(coordinates_[0]);
  }

  ValueId run(const std::string& mode) {
    std::vector<std::vector<Tap>> taps;
    for (size_t axis = 0; axis < coordinates_.size(); ++axis) {
      ValueId at = coordinates_[axis];
      // Linear and nearest fold the coordinate, cubic only its taps.
      if (mode != "cubic" && mode != "bicubic") at = folded_coordinate(at, spatial_[axis]);
      taps.push_back(taps_along(b_, at, mode));
    }
    std::optional<ValueId> sum;
    std::vector<size_t> choice(taps.size(), 0);
    while (true) {
      const ValueId term = sample(taps, choice);
      sum = sum ? b_.add(*sum, term) : term;
      size_t axis = 0;
      while (axis < choice.size() && ++choice[axis] == taps[axis].size()) choice[axis++] = 0;
      if (axis == choice.size()) break;
    }
    std::vector<int> perm(b_.rank(*sum));
    std::iota(perm.begin(), perm.end(), 0);
    std::rotate(perm.begin() + 1, perm.end() - 1, perm.end());
    return b_.cast(b_.transpose(*sum, perm), dtype_);
  }

 private:
  ValueId denormalised(ValueId unit, int64_t extent) {
    const auto size = static_cast<double>(extent);
    if (rule_.align_corners) return b_.mul(b_.add(unit, 1.0), (size - 1) / 2);
    return b_.mul(b_.sub(b_.mul(b_.add(unit, 1.0), size), 1.0), 0.5);
  }

  ValueId folded_coordinate(ValueId x, int64_t extent) {
    const auto size = static_cast<double>(extent);
    switch (rule_.padding) {
      case Padding::kZeros:
        return x;
      case Padding::kBorder:
        return b_.binary(Op::k_min, b_.binary(Op::k_max, x, 0.0), size - 1);
      case Padding::kReflection:
        return rule_.align_corners ? reflected(b_, x, 0, size - 1) : reflected(b_, x, -0.5, size);
    }
    return x;
  }

  // The pixels of one choice of taps times their weights: [n, out..., c].
  ValueId sample(const std::vector<std::vector<Tap>>& taps, const std::vector<size_t>& choice) {
    Shape index_shape = points_;
    index_shape.push_back(Dim(1));
    std::vector<ValueId> indices;
    std::optional<ValueId> weight, inside;
    const auto both = [&](std::optional<ValueId>& all, ValueId one, bool is_mask) {
      all = !all ? one : is_mask ? b_.bitwise(BitwiseKind::kAnd, *all, one) : b_.mul(*all, one);
    };
    for (size_t axis = 0; axis < taps.size(); ++axis) {
      const Tap& tap = taps[axis][choice[axis]];
      indices.push_back(
          b_.reshape(folded_index(b_, tap.index, spatial_[axis], rule_), index_shape));
      if (tap.weight.valid()) both(weight, tap.weight, false);
      if (rule_.padding == Padding::kZeros) {
        const ValueId last = b_.scalar(compute_, static_cast<double>(spatial_[axis] - 1));
        both(inside, b_.compare(CompareKind::kLe, b_.scalar(compute_, 0), tap.index), true);
        both(inside, b_.compare(CompareKind::kLe, tap.index, last), true);
      }
    }
    ValueId pixel =
        b_.gather_nd(pixels_, b_.concat(indices, static_cast<int>(index_shape.size()) - 1), 1);
    const int channel = static_cast<int>(points_.size());
    const Shape whole = b_.shape(pixel);
    if (inside)
      pixel = b_.select(b_.spread(*inside, whole, {channel}), pixel, b_.scalar(compute_, 0));
    return weight ? b_.mul(pixel, b_.spread(*weight, whole, {channel})) : pixel;
  }

  PrimitiveBuilder& b_;
  GridRule rule_;
  DType dtype_, compute_;
  std::vector<int64_t> spatial_;
  ValueId pixels_;
  std::vector<ValueId> coordinates_;  // by spatial axis, in pixels
  Shape points_;                      // [n, out...]
};

void lower_grid_sample(NodeContext& n) {
  GridRule rule;
  const std::string padding = n.text("padding_mode", "zeros");
  rule.align_corners = n.integer("align_corners", 0) != 0;
  if (padding == "border") {
    rule.padding = Padding::kBorder;
  } else if (padding == "reflection") {
    rule.padding = Padding::kReflection;
  } else if (padding != "zeros") {
    throw ModelError(fmt::format("padding_mode '{}' is not known", padding));
  }
  const std::string mode = n.text("mode", "linear");
  if (mode != "nearest" && mode != "linear" && mode != "bilinear" && mode != "cubic" &&
      mode != "bicubic") {
    throw ModelError(fmt::format("mode '{}' is not known", mode));
  }
  if (n.rank(0) < 3) throw ModelError(fmt::format("input 0 has rank {}", n.rank(0)));
  n.output(0, GridSampler(n, rule).run(mode));
}

// Coordinates in [-1, 1] of the points of a grid, transformed by theta: [n, out..., d].
void lower_affine_grid(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const std::vector<int64_t> size = n.known_integers(1);
  const bool align_corners = n.integer("align_corners", 0) != 0;
  if (size.size() != 4 && size.size() != 5) {
    throw ModelError(fmt::format("a size of {} axes, expected 4 or 5", size.size()));
  }
  const size_t depth = size.size() - 2;
  const DType dtype = n.dtype(0);
  const DType compute = compute_type(dtype);
  Shape points(size.begin() + 2, size.end());
  points.emplace_back(1);
  std::vector<ValueId> homogeneous;
  for (size_t i = depth; i-- > 0;) {  // x first
    const int64_t extent = size[i + 2];
    Tensor line(compute, {extent});
    for (int64_t k = 0; k < extent; ++k) {
      const auto at = static_cast<double>(k);
      const auto count = static_cast<double>(extent);
      const double aligned = extent > 1 ? 2 * at / (count - 1) - 1 : 0;
      line.set_real(k, align_corners ? aligned : (2 * at + 1) / count - 1);
    }
    homogeneous.push_back(b.broadcast_axes(b.constant(line), points, {static_cast<int>(i)}));
  }
  homogeneous.push_back(b.filled(compute, 1, points));
  const ValueId stacked = b.concat(homogeneous, static_cast<int>(depth));
  const Dim count = element_count(points);
  const ValueId flat = b.reshape(stacked, {1, count, static_cast<int64_t>(depth) + 1});
  const ValueId theta = b.transpose(b.cast(n.input(0), compute), {0, 2, 1});
  Shape result = points;
  result.insert(result.begin(), Dim(size[0]));
  result.back() = Dim(static_cast<int64_t>(depth));
  n.output(0, b.cast(b.reshape(b.matmul(flat, theta), result), dtype));
}

constexpr OperatorRow kRows[] = {
    {"AffineGrid", 20, lower_affine_grid},
    {"GridSample", 16, lower_grid_sample},
    {"GridSample", 1, lower_grid_sample, "com.microsoft"},
};

}  // namespace

std::span<const OperatorRow> sampling_operators() { return kRows; }

}  // namespace stitch
