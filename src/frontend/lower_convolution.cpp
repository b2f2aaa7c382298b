// Conv, ConvTranspose, ConvInteger.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "frontend/window_geometry.h"
#include "graph/error.h"

namespace stitch {
namespace {

struct ConvOperands {
  ValueId x, w;
  std::vector<int64_t> spatial;  // extents of x
  std::vector<int64_t> kernel;
};

ConvOperands conv_operands(NodeContext& n, size_t x_input, size_t w_input) {
  PrimitiveBuilder& b = n.builder();
  ConvOperands result{n.input(x_input), n.input(w_input), {}, {}};
  const std::vector<int64_t> x = constant_extents(b.shape(result.x));
  const std::vector<int64_t> w = constant_extents(b.shape(result.w));
  if (x.size() < 3 || w.size() != x.size()) {
    throw ModelError(fmt::format("operands of rank {} and {}, expected equal ranks of at least 3",
                                 x.size(), w.size()));
  }
  result.spatial.assign(x.begin() + 2, x.end());
  result.kernel.assign(w.begin() + 2, w.end());
  const auto declared = n.integers("kernel_shape");
  if (!declared.empty() && declared != result.kernel) {
    throw ModelError(fmt::format("kernel_shape [{}] against weights of kernel [{}]",
                                 fmt::join(declared, ","), fmt::join(result.kernel, ",")));
  }
  return result;
}

// Padding may be negative: it crops.
ValueId crop_negative_pads(PrimitiveBuilder& b, ValueId x, ConvAttributes& attributes) {
  for (size_t i = 0; i < attributes.low.size(); ++i) {
    const int axis = static_cast<int>(i) + 2;
    const Dim start(std::max<int64_t>(0, -attributes.low[i]));
    const Dim limit = b.dim(x, axis) - Dim(std::max<int64_t>(0, -attributes.high[i]));
    x = b.slice_axis(x, axis, start, max(start, limit));
    attributes.low[i] = std::max<int64_t>(0, attributes.low[i]);
    attributes.high[i] = std::max<int64_t>(0, attributes.high[i]);
  }
  return x;
}

ConvAttributes conv_attributes(NodeContext& n, const ConvOperands& operands, DType accumulate) {
  const WindowGeometry g = window_geometry(n, operands.spatial, operands.kernel);
  ConvAttributes attributes;
  attributes.strides = g.strides;
  attributes.dilations = g.dilations;
  attributes.low = g.low;
  attributes.high = g.high;
  attributes.groups = n.integer("group", 1);
  attributes.accumulate = accumulate;
  if (attributes.groups < 1) throw ModelError(fmt::format("group is {}", attributes.groups));
  return attributes;
}

ValueId add_bias(NodeContext& n, ValueId y, size_t input) {
  if (!n.has_input(input)) return y;
  PrimitiveBuilder& b = n.builder();
  return b.add(y, b.broadcast_axes(n.input(input), b.shape(y), {1}));
}

void lower_conv(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  ConvOperands operands = conv_operands(n, 0, 1);
  ConvAttributes attributes = conv_attributes(n, operands, compute_type(n.dtype(0)));
  operands.x = crop_negative_pads(b, operands.x, attributes);
  n.output(0, add_bias(n, b.node(Op::k_conv, {operands.x, operands.w}, attributes), 2));
}

void lower_conv_transpose(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const ConvOperands operands = conv_operands(n, 0, 1);
  const size_t count = operands.spatial.size();
  ConvAttributes attributes;
  attributes.strides = spatial_attribute(n, "strides", count, 1);
  attributes.dilations = spatial_attribute(n, "dilations", count, 1);
  attributes.output_padding = spatial_attribute(n, "output_padding", count, 0);
  attributes.groups = n.integer("group", 1);
  attributes.accumulate = compute_type(n.dtype(0));
  const std::vector<int64_t> pads = spatial_attribute(n, "pads", 2 * count, 0);
  std::vector<int64_t> output_shape = n.integers("output_shape");
  if (output_shape.size() == count + 2) {  // some exporters give all axes
    output_shape.erase(output_shape.begin(), output_shape.begin() + 2);
  }
  if (!output_shape.empty() && output_shape.size() != count) {
    throw ModelError(
        fmt::format("output_shape has {} entries for {} spatial axes", output_shape.size(), count));
  }
  const std::string auto_pad = n.text("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  for (size_t i = 0; i < count; ++i) {
    if (output_shape.empty() && !same) {
      const bool valid = auto_pad == "VALID";
      attributes.low.push_back(valid ? 0 : pads[i]);
      attributes.high.push_back(valid ? 0 : pads[count + i]);
      continue;
    }
    // The padding that makes the wanted extent; the odd cell goes to the end for UPPER only.
    const int64_t out =
        output_shape.empty() ? operands.spatial[i] * attributes.strides[i] : output_shape[i];
    const int64_t total = attributes.strides[i] * (operands.spatial[i] - 1) +
                          attributes.output_padding[i] +
                          (operands.kernel[i] - 1) * attributes.dilations[i] + 1 - out;
    const int64_t half = total >= 0 ? total / 2 : -((1 - total) / 2);
    attributes.low.push_back(auto_pad == "SAME_UPPER" ? half : total - half);
    attributes.high.push_back(total - attributes.low.back());
  }
  // Negative padding extends the result with zeros.
  PadAttributes extension;
  extension.low.assign(count + 2, Dim(0));
  extension.high.assign(count + 2, Dim(0));
  for (size_t i = 0; i < count; ++i) {
    extension.low[i + 2] = Dim(std::max<int64_t>(0, -attributes.low[i]));
    extension.high[i + 2] = Dim(std::max<int64_t>(0, -attributes.high[i]));
    attributes.low[i] = std::max<int64_t>(0, attributes.low[i]);
    attributes.high[i] = std::max<int64_t>(0, attributes.high[i]);
  }
  const ValueId y = b.node(Op::k_conv_transpose, {operands.x, operands.w}, attributes);
  n.output(0, add_bias(n, b.pad(y, b.scalar(b.dtype(y), 0.0), extension), 2));
}

// (x - x_zero) conv (w - w_zero) in int32; the padding stands for x_zero, so it adds nothing.
void lower_conv_integer(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  ConvOperands operands = conv_operands(n, 0, 1);
  operands.x = b.cast(operands.x, DType::kI32);
  operands.w = b.cast(operands.w, DType::kI32);
  if (n.has_input(2)) {
    operands.x = b.sub(operands.x, b.reshape(b.cast(n.input(2), DType::kI32), {}));
  }
  if (n.has_input(3)) {
    const ValueId zero = b.cast(n.input(3), DType::kI32);
    const bool scalar = element_count(b.shape(zero)) == Dim(1);
    operands.w = b.sub(operands.w, scalar ? b.reshape(zero, {})
                                          : b.broadcast_axes(zero, b.shape(operands.w), {0}));
  }
  ConvAttributes attributes = conv_attributes(n, operands, DType::kI32);
  operands.x = crop_negative_pads(b, operands.x, attributes);
  n.output(0, b.node(Op::k_conv, {operands.x, operands.w}, attributes));
}

constexpr OperatorRow kRows[] = {
    {"Conv", 1, lower_conv},
    {"ConvInteger", 10, lower_conv_integer},
    {"ConvTranspose", 1, lower_conv_transpose},
};

}  // namespace

std::span<const OperatorRow> convolution_operators() { return kRows; }

}  // namespace stitch
