// DeformConv on images: bilinear samples at shifted kernel points, then a product with the weights.
#include <fmt/format.h>

#include <optional>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "frontend/window_geometry.h"
#include "graph/error.h"

namespace stitch {
namespace {

// Inputs by position.
enum Input : size_t { kImage, kWeights, kOffsets, kBias, kMask };

class DeformConv {
 public:
  explicit DeformConv(NodeContext& n)
      : n_(n), b_(n.builder()), dtype_(n.dtype(kImage)), compute_(compute_type(dtype_)) {
    const std::vector<int64_t> image = constant_extents(n.shape(kImage));
    const std::vector<int64_t> weights = constant_extents(n.shape(kWeights));
    const std::vector<int64_t> offsets = constant_extents(n.shape(kOffsets));
    if (image.size() != 4 || weights.size() != 4 || offsets.size() != 4) {
      throw ModelError("only images, operands of rank 4, are supported");
    }
    batch_ = image[0];
    channels_ = image[1];
    extent_ = {image[2], image[3]};
    geometry_ = window_geometry(n, extent_, {weights[2], weights[3]});
    cells_ = weights[2] * weights[3];
    out_ = {offsets[2], offsets[3]};
    groups_ = n.integer("group", 1);
    offset_groups_ = n.integer("offset_group", 1);
    filters_ = weights[0];
    const bool fits = groups_ >= 1 && offset_groups_ >= 1 && channels_ % offset_groups_ == 0 &&
                      channels_ == groups_ * weights[1] && filters_ % groups_ == 0 &&
                      offsets[1] == offset_groups_ * cells_ * 2;
    if (!fits) {
      throw ModelError(fmt::format("image {}, weights {} and offsets {} do not fit each other",
                                   to_string(n.shape(kImage)), to_string(n.shape(kWeights)),
                                   to_string(n.shape(kOffsets))));
    }
  }

  void run() {
    const int64_t points = out_[0] * out_[1];
    const int64_t each = channels_ / groups_;
    const ValueId columns =
        b_.reshape(samples(), {batch_, groups_, each * cells_, points});  // [n, g, c * k, points]
    const ValueId weights = b_.reshape(b_.cast(n_.input(kWeights), compute_),
                                       {1, groups_, filters_ / groups_, each * cells_});
    ValueId y = b_.reshape(b_.matmul(weights, columns), {batch_, filters_, out_[0], out_[1]});
    if (n_.has_input(kBias)) {
      const ValueId bias = b_.cast(n_.input(kBias), compute_);
      y = b_.add(y, b_.broadcast_axes(bias, b_.shape(y), {1}));
    }
    n_.output(0, b_.cast(y, dtype_));
  }

 private:
  // The image at every kernel point of every result: [n, channels, kernel points, results].
  ValueId samples() {
    const int64_t points = cells_ * out_[0] * out_[1];
    const int64_t each = channels_ / offset_groups_;
    const ValueId y = coordinates(0);
    const ValueId x = coordinates(1);
    const ValueId grouped = b_.reshape(b_.cast(n_.input(kImage), compute_),
                                       {batch_, offset_groups_, each, extent_[0], extent_[1]});
    const ValueId pixels = b_.transpose(grouped, {0, 1, 3, 4, 2});
    const ValueId low_y = b_.unary(Op::k_floor, y);
    const ValueId low_x = b_.unary(Op::k_floor, x);
    std::optional<ValueId> sum;
    for (const double dy : {0.0, 1.0}) {
      for (const double dx : {0.0, 1.0}) {
        const ValueId at_y = dy == 0 ? low_y : b_.add(low_y, 1.0);
        const ValueId at_x = dx == 0 ? low_x : b_.add(low_x, 1.0);
        const ValueId weight = b_.mul(nearness(y, at_y), nearness(x, at_x));
        const ValueId inside =
            b_.bitwise(BitwiseKind::kAnd, within(at_y, extent_[0]), within(at_x, extent_[1]));
        const ValueId kept = b_.select(inside, weight, b_.scalar(compute_, 0));
        const ValueId indices = b_.concat({index(at_y, extent_[0]), index(at_x, extent_[1])}, 3);
        const ValueId taps = b_.gather_nd(pixels, indices, 2);  // [n, groups, points, c]
        const ValueId term = b_.mul(taps, b_.spread(kept, b_.shape(taps), {3}));
        sum = sum ? b_.add(*sum, term) : term;
      }
    }
    if (n_.has_input(kMask)) {
      const ValueId mask =
          b_.reshape(b_.cast(n_.input(kMask), compute_), {batch_, offset_groups_, points});
      sum = b_.mul(*sum, b_.spread(mask, b_.shape(*sum), {3}));
    }
    return b_.transpose(*sum, {0, 1, 3, 2});
  }

  // Row (0) or column (1) coordinates: [n, offset groups, kernel points * results].
  ValueId coordinates(int64_t axis) {
    const auto at = static_cast<size_t>(axis);
    Tensor base(compute_, {cells_ * out_[0] * out_[1]});
    int64_t i = 0;
    for (int64_t ky = 0; ky < geometry_.kernel[0]; ++ky) {
      for (int64_t kx = 0; kx < geometry_.kernel[1]; ++kx) {
        for (int64_t oy = 0; oy < out_[0]; ++oy) {
          for (int64_t ox = 0; ox < out_[1]; ++ox) {
            const int64_t k = axis == 0 ? ky : kx;
            const int64_t o = axis == 0 ? oy : ox;
            base.set_real(i++, static_cast<double>(o * geometry_.strides[at] - geometry_.low[at] +
                                                   k * geometry_.dilations[at]));
          }
        }
      }
    }
    const ValueId offsets = b_.reshape(b_.cast(n_.input(kOffsets), compute_),
                                       {batch_, offset_groups_, cells_, 2, out_[0] * out_[1]});
    const ValueId own = b_.slice_axis(offsets, 3, Dim(axis), Dim(axis + 1));
    const Shape flat = {batch_, offset_groups_, base.element_count()};
    return b_.add(b_.reshape(own, flat), b_.constant(base));
  }

  ValueId nearness(ValueId coordinate, ValueId tap) {  // 1 - distance
    return b_.sub(1.0, b_.unary(Op::k_abs, b_.sub(coordinate, tap)));
  }

  ValueId within(ValueId tap, int64_t extent) {
    const ValueId last = b_.scalar(compute_, static_cast<double>(extent - 1));
    return b_.bitwise(BitwiseKind::kAnd, b_.compare(CompareKind::kLe, b_.scalar(compute_, 0), tap),
                      b_.compare(CompareKind::kLe, tap, last));
  }

  ValueId index(ValueId tap, int64_t extent) {  // inside the image, with an axis for coordinates
    const ValueId low = b_.binary(Op::k_max, tap, 0.0);
    const ValueId clamped = b_.binary(Op::k_min, low, static_cast<double>(extent - 1));
    return b_.insert_axis(b_.cast(clamped, DType::kI64), 3);
  }

  NodeContext& n_;
  PrimitiveBuilder& b_;
  DType dtype_, compute_;
  int64_t batch_ = 0, channels_ = 0, filters_ = 0, cells_ = 0;
  int64_t groups_ = 1, offset_groups_ = 1;
  std::vector<int64_t> extent_, out_;  // height, width
  WindowGeometry geometry_;
};

void lower_deform_conv(NodeContext& n) { DeformConv(n).run(); }

constexpr OperatorRow kRows[] = {
    {"DeformConv", 19, lower_deform_conv},
};

}  // namespace

std::span<const OperatorRow> deform_conv_operators() { return kRows; }

}  // namespace stitch
