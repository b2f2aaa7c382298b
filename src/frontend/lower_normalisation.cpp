// Normalisations: batch, layer, RMS, instance, group, LRN, Lp, mean-variance. Variances are means
// of squared distances from the mean, never E[x^2] - E[x]^2.
#include <fmt/format.h>

#include <numeric>

#include "frontend/node_context.h"
#include "frontend/normalisation.h"
#include "frontend/operator_table.h"
#include "frontend/widened.h"
#include "graph/error.h"

namespace stitch {
namespace {

std::vector<int> axes_from(size_t first, size_t rank) {
  std::vector<int> axes(rank - first);
  std::iota(axes.begin(), axes.end(), static_cast<int>(first));
  return axes;
}

// The type of the statistics: stash_type, float32 by default; float64 stays.
DType stash_dtype(NodeContext& n) {
  const DType dtype = n.dtype_attribute("stash_type", DType::kF32);
  return n.dtype(0) == DType::kF64 ? DType::kF64 : compute_type(dtype);
}

}  // namespace

Moments moments(PrimitiveBuilder& b, ValueId x, const std::vector<int>& axes) {
  Moments m;
  m.mean = b.mean(x, axes, false);
  m.centred = b.sub(x, b.spread(m.mean, b.shape(x), axes));
  m.variance = b.mean(b.mul(m.centred, m.centred), axes, false);
  return m;
}

ValueId along_channels(PrimitiveBuilder& b, ValueId vector, const Shape& shape) {
  if (b.rank(vector) != 1 || shape.size() < 2 || !(b.dim(vector, 0) == shape[1])) {
    throw ModelError(
        fmt::format("a parameter of shape {}, expected one value for each channel of {}",
                    to_string(b.shape(vector)), to_string(shape)));
  }
  return b.broadcast_axes(vector, shape, {1});
}

Normalised layer_norm(PrimitiveBuilder& b, ValueId x, int first_axis, double epsilon) {
  const std::vector<int> axes = axes_from(static_cast<size_t>(first_axis), b.rank(x));
  const Moments m = moments(b, x, axes);
  Normalised result;
  result.mean = m.mean;
  const ValueId deviation = b.unary(Op::k_sqrt, b.add(m.variance, epsilon));
  result.inverse_deviation = b.div(1.0, deviation);
  result.value = b.mul(m.centred, b.spread(result.inverse_deviation, b.shape(x), axes));
  return result;
}

Normalised rms_norm(PrimitiveBuilder& b, ValueId x, int first_axis, double epsilon) {
  const std::vector<int> axes = axes_from(static_cast<size_t>(first_axis), b.rank(x));
  Normalised result;
  const ValueId mean_square = b.mean(b.mul(x, x), axes, false);
  result.inverse_deviation = b.div(1.0, b.unary(Op::k_sqrt, b.add(mean_square, epsilon)));
  result.value = b.mul(x, b.spread(result.inverse_deviation, b.shape(x), axes));
  return result;
}

ValueId kept_axes(PrimitiveBuilder& b, ValueId reduced, const Shape& shape, int first_axis) {
  Shape kept = shape;
  for (size_t i = static_cast<size_t>(first_axis); i < kept.size(); ++i) kept[i] = Dim(1);
  return b.reshape(reduced, kept);
}

namespace {

void lower_layer_normalisation(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const DType dtype = n.dtype(0);
  const DType compute = stash_dtype(n);
  const Shape shape = n.shape(0);
  const int axis = normalise_axis(n.integer("axis", -1), shape.size());
  const Normalised norm =
      layer_norm(b, b.cast(n.input(0), compute), axis, n.number("epsilon", 1e-5f));
  ValueId y = b.mul(b.cast(norm.value, dtype), b.broadcast(n.input(1), shape));
  if (n.has_input(2)) y = b.add(y, b.broadcast(n.input(2), shape));
  n.output(0, y);
  if (n.wants_output(1)) n.output(1, kept_axes(b, norm.mean, shape, axis));
  if (n.wants_output(2)) n.output(2, kept_axes(b, norm.inverse_deviation, shape, axis));
}

void lower_rms_normalisation(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const DType dtype = n.dtype(0);
  const Shape shape = n.shape(0);
  const int axis = normalise_axis(n.integer("axis", -1), shape.size());
  const Normalised norm =
      rms_norm(b, b.cast(n.input(0), stash_dtype(n)), axis, n.number("epsilon", 1e-5f));
  n.output(0, b.mul(b.cast(norm.value, dtype), b.broadcast(n.input(1), shape)));
  if (n.wants_output(1)) n.output(1, kept_axes(b, norm.inverse_deviation, shape, axis));
}

// Inference: (x - mean) * (scale / sqrt(variance + epsilon)) + bias; the factor is per channel.
void lower_batch_normalisation(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const DType dtype = n.dtype(0);
  const DType compute = compute_type(dtype);
  const ValueId x = b.cast(n.input(0), compute);
  const Shape shape = b.shape(x);
  const bool training = n.integer("training_mode", 0) != 0;
  if (n.since_version() < 9 && n.integer("spatial", 1) == 0) {
    throw ModelError("spatial=0, parameters for each element, is not supported");
  }
  if (n.output_count() > 1 && !training) {
    for (size_t i = 1; i < n.output_count(); ++i) {
      if (n.wants_output(i))
        throw ModelError("it is in training mode: it has more than one output");
    }
  }
  const ValueId scale = b.cast(n.input(1), compute);
  const ValueId bias = b.cast(n.input(2), compute);
  const DType statistics = n.dtype(3);
  ValueId mean = b.cast(n.input(3), compute);
  ValueId variance = b.cast(n.input(4), compute);
  ValueId centred;
  if (training) {
    std::vector<int> axes = axes_from(0, shape.size());
    if (axes.size() > 1) axes.erase(axes.begin() + 1);
    const Moments m = moments(b, x, axes);
    const double momentum = n.number("momentum", 0.9f);
    const auto running = [&](ValueId old, ValueId current) {
      return b.cast(b.add(b.mul(old, momentum), b.mul(current, 1 - momentum)), statistics);
    };
    if (n.wants_output(1)) n.output(1, running(mean, m.mean));
    if (n.wants_output(2)) n.output(2, running(variance, m.variance));
    variance = m.variance;
    centred = m.centred;
  } else {
    centred = b.sub(x, along_channels(b, mean, shape));
  }
  const ValueId deviation = b.unary(Op::k_sqrt, b.add(variance, n.number("epsilon", 1e-5f)));
  const ValueId factor = b.div(scale, deviation);
  const ValueId y =
      b.add(b.mul(centred, along_channels(b, factor, shape)), along_channels(b, bias, shape));
  n.output(0, b.cast(y, dtype));
}

// Statistics of each channel of each image; scale and bias by channel.
void lower_instance_normalisation(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const DType dtype = n.dtype(0);
  const DType compute = compute_type(dtype);
  const Shape shape = n.shape(0);
  if (shape.size() < 3) throw ModelError(fmt::format("input 0 has rank {}", shape.size()));
  const Normalised norm = layer_norm(b, b.cast(n.input(0), compute), 2, n.number("epsilon", 1e-5f));
  const ValueId scale = along_channels(b, b.cast(n.input(1), compute), shape);
  const ValueId bias = along_channels(b, b.cast(n.input(2), compute), shape);
  n.output(0, b.cast(b.add(b.mul(norm.value, scale), bias), dtype));
}

// Statistics of groups of channels. Version 18 has a scale for each group, version 21 for each
// channel.
void lower_group_normalisation(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const DType dtype = n.dtype(0);
  const DType compute = stash_dtype(n);
  const Shape shape = n.shape(0);
  const int64_t groups = n.required_integer("num_groups");
  if (shape.size() < 2) throw ModelError(fmt::format("input 0 has rank {}", shape.size()));
  if (groups < 1 || (shape[1].is_constant() && shape[1].constant() % groups != 0)) {
    throw ModelError(
        fmt::format("{} channels do not make {} groups", shape[1].to_string(), groups));
  }
  const Shape spatial(shape.begin() + 2, shape.end());
  const Dim each = floordiv(shape[1], Dim(groups));
  const Shape grouped = {shape[0], groups, each * element_count(spatial)};
  const ValueId x = b.reshape(b.cast(n.input(0), compute), grouped);
  const ValueId norm = layer_norm(b, x, 2, n.number("epsilon", 1e-5f)).value;
  const ValueId y = b.cast(b.reshape(norm, shape), dtype);
  const auto by_channel = [&](ValueId parameter) {
    if (n.since_version() < 21) {
      parameter = b.reshape(b.broadcast_axes(parameter, {groups, each}, {0}), {shape[1]});
    }
    return along_channels(b, parameter, shape);
  };
  n.output(0, b.add(b.mul(y, by_channel(n.input(1))), by_channel(n.input(2))));
}

// x / (bias + alpha / size * sum of x^2 over a window of channels)^beta
void lower_lrn(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const int64_t size = n.required_integer("size");
  if (size < 1) throw ModelError(fmt::format("size is {}", size));
  const double alpha = n.number("alpha", 1e-4f);
  const double beta = n.number("beta", 0.75);
  const double bias = n.number("bias", 1.0);
  n.output(0, widened(b, n.input(0), [&](ValueId x) {
             const Shape shape = b.shape(x);
             if (shape.size() < 2)
               throw ModelError(fmt::format("input 0 has rank {}", shape.size()));
             const Dim rest = element_count(Shape(shape.begin() + 2, shape.end()));
             const ValueId square = b.reshape(b.mul(x, x), {shape[0], shape[1], rest});
             WindowAttributes window{.kind = ReduceKind::kSum,
                                     .kernel = {size, 1},
                                     .strides = {1, 1},
                                     .dilations = {1, 1},
                                     .low = {(size - 1) / 2, 0},
                                     .high = {size - 1 - (size - 1) / 2, 0}};
             const ValueId sum = b.reshape(b.node(Op::k_reduce_window, {square}, window), shape);
             const ValueId base = b.add(b.mul(sum, alpha / static_cast<double>(size)), bias);
             return b.div(x, b.binary(Op::k_pow, base, beta));
           }));
}

void lower_lp_normalisation(NodeContext& n) {  // x / norm; 0 where the norm is 0
  PrimitiveBuilder& b = n.builder();
  const int64_t p = n.integer("p", 2);
  if (p != 1 && p != 2) throw ModelError(fmt::format("p is {}, expected 1 or 2", p));
  const int axis = normalise_axis(n.integer("axis", -1), n.rank(0));
  n.output(0, widened(b, n.input(0), [&](ValueId x) {
             const ValueId terms = p == 1 ? b.unary(Op::k_abs, x) : b.mul(x, x);
             ValueId norm = b.reduce(ReduceKind::kSum, terms, {axis}, false);
             if (p == 2) norm = b.unary(Op::k_sqrt, norm);
             norm = b.spread(norm, b.shape(x), {axis});
             const ValueId zero = b.scalar(b.dtype(x), 0.0);
             return b.select(b.compare(CompareKind::kEq, norm, 0.0), zero, b.div(x, norm));
           }));
}

void lower_mean_variance_normalisation(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  std::vector<int64_t> given = n.integers("axes");
  if (!n.has_attribute("axes")) given = {0, 2, 3};
  const std::vector<int> axes = normalise_axes(given, n.rank(0));
  n.output(0, widened(b, n.input(0), [&](ValueId x) {
             const Moments m = moments(b, x, axes);
             const ValueId deviation = b.add(b.unary(Op::k_sqrt, m.variance), 1e-9);
             return b.div(m.centred, b.spread(deviation, b.shape(x), axes));
           }));
}

constexpr OperatorRow kRows[] = {
    {"BatchNormalization", 6, lower_batch_normalisation},
    {"BatchNormalization", 9, lower_batch_normalisation},
    {"GroupNormalization", 18, lower_group_normalisation},
    {"GroupNormalization", 21, lower_group_normalisation},
    {"InstanceNormalization", 6, lower_instance_normalisation},
    {"LRN", 1, lower_lrn},
    // Version 17 by the standard; onnxruntime writes it into models of older opsets.
    {"LayerNormalization", 1, lower_layer_normalisation},
    {"LpNormalization", 1, lower_lp_normalisation},
    {"MeanVarianceNormalization", 9, lower_mean_variance_normalisation},
    {"RMSNormalization", 23, lower_rms_normalisation},
    // onnxruntime's name, in the default domain too.
    {"SimplifiedLayerNormalization", 1, lower_rms_normalisation},
};

}  // namespace

std::span<const OperatorRow> normalisation_operators() { return kRows; }

}  // namespace stitch
