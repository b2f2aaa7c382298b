// Result types of reductions, windows, scans and contractions.
#include "graph/type_rules.h"

namespace stitch {
namespace {

void require_kind(const TypeQuery& query, ReduceKind kind) {
  if (query.operand(0).dtype == DType::kBool &&
      (kind == ReduceKind::kSum || kind == ReduceKind::kProd)) {
    reject(query, "numbers to add or multiply", operand_types(query));
  }
}

std::vector<ValueType> reduce_types(const TypeQuery& query) {
  const auto& reduce = query.as<ReduceAttributes>();
  require_kind(query, reduce.kind);
  ValueType result{query.operand(0).dtype, {}};
  size_t next = 0;
  for (int axis = 0; axis < query.rank(0); ++axis) {
    if (next < reduce.axes.size() && reduce.axes[next] == axis) {
      ++next;
    } else {
      result.shape.push_back(query.operand(0).shape[static_cast<size_t>(axis)]);
    }
  }
  if (next != reduce.axes.size()) {
    reject(query, fmt::format("sorted axes below {}", query.rank(0)),
           fmt::format("[{}]", fmt::join(reduce.axes, ",")));
  }
  return {result};
}

std::vector<ValueType> argreduce_types(const TypeQuery& query) {
  const auto& reduce = query.as<ArgReduceAttributes>();
  require_axis(query, reduce.axis, query.rank(0));
  if (reduce.kind != ReduceKind::kMin && reduce.kind != ReduceKind::kMax) {
    throw InternalError("an argreduce node is neither min nor max");
  }
  const Shape& from = query.operand(0).shape;
  if (from[static_cast<size_t>(reduce.axis)] == Dim(0)) {
    reject(query, "elements to choose from", operand_types(query));
  }
  ValueType result{DType::kI64, from};
  result.shape.erase(result.shape.begin() + reduce.axis);
  return {result};
}

std::vector<ValueType> window_types(const TypeQuery& query) {
  const auto& window = query.as<WindowAttributes>();
  const size_t spatial = window.kernel.size();
  if (spatial > query.operand(0).shape.size() || window.strides.size() != spatial ||
      window.dilations.size() != spatial || window.low.size() != spatial ||
      window.high.size() != spatial) {
    reject(query, fmt::format("one entry an axis over at most {} axes", query.rank(0)),
           fmt::format("{} kernel entries", spatial));
  }
  require_kind(query, window.kind);
  const bool argument = query.op == Op::k_argwindow;
  if (window.kind != ReduceKind::kMax && (argument || window.kind != ReduceKind::kSum)) {
    throw InternalError(fmt::format("a {} node has a kind that it cannot have", name(query.op)));
  }
  ValueType result = query.operand(0);
  if (argument) result.dtype = DType::kI64;
  const size_t first = result.shape.size() - spatial;
  for (size_t i = 0; i < spatial; ++i) {
    Dim& extent = result.shape[first + i];
    extent = window_extent(query, extent, window.kernel[i], window.strides[i], window.dilations[i],
                           window.low[i], window.high[i]);
  }
  return {result};
}

std::vector<ValueType> cumulative_types(const TypeQuery& query) {
  const auto& cumulative = query.as<CumulativeAttributes>();
  require_axis(query, cumulative.axis, query.rank(0));
  if (query.operand(0).dtype == DType::kBool) reject(query, "numbers", operand_types(query));
  if (cumulative.kind != ReduceKind::kSum && cumulative.kind != ReduceKind::kProd) {
    throw InternalError("a cumulative node is neither sum nor prod");
  }
  return {query.operand(0)};
}

std::vector<ValueType> top_k_types(const TypeQuery& query) {
  const auto& top_k = query.as<TopKAttributes>();
  require_axis(query, top_k.axis, query.rank(0));
  ValueType values = query.operand(0);
  Dim& extent = values.shape[static_cast<size_t>(top_k.axis)];
  if (top_k.k < 0 || (extent.is_constant() && extent.constant() < top_k.k)) {
    reject(query, fmt::format("k of at most {}", extent.to_string()), std::to_string(top_k.k));
  }
  extent = top_k.k;
  return {values, {DType::kI64, values.shape}};
}

// Floats give their own type, integers the accumulator's: int8 x int8 gives int32.
DType contraction_dtype(const TypeQuery& query, DType accumulate) {
  const DType a = query.operand(0).dtype;
  const DType b = query.operand(1).dtype;
  if (a == DType::kBool || b == DType::kBool || is_float(a) != is_float(b) ||
      (is_float(a) && a != b)) {
    reject(query, "two operands of one float type, or integers", operand_types(query));
  }
  if (is_float(a)) {
    const bool fits = accumulate == DType::kF64 || (accumulate == DType::kF32 && a != DType::kF64);
    if (!fits) reject(query, "a float accumulator", std::string(name(accumulate)));
    return a;
  }
  const bool fits = is_integer(accumulate) && size_bytes(accumulate) >= size_bytes(a) &&
                    size_bytes(accumulate) >= 4;
  if (!fits) {
    reject(query, "an integer accumulator of 32 or 64 bits", std::string(name(accumulate)));
  }
  return accumulate;
}

std::vector<ValueType> matmul_types(const TypeQuery& query) {
  const Shape& a = query.operand(0).shape;
  const Shape& b = query.operand(1).shape;
  const size_t rank = a.size();
  bool fits = rank >= 2 && b.size() == rank && a[rank - 1] == b[rank - 2];
  for (size_t i = 0; fits && i + 2 < rank; ++i) fits = a[i] == b[i];
  if (!fits) {
    reject(query, "[..., m, k] and [..., k, n] with equal leading extents", operand_types(query));
  }
  ValueType result{contraction_dtype(query, query.as<MatmulAttributes>().accumulate), a};
  result.shape[rank - 1] = b[rank - 1];
  return {result};
}

void require_spatial_entries(const TypeQuery& query, const std::vector<int64_t>& entries) {
  if (entries.size() + 2 != query.operand(0).shape.size()) {
    reject(query, fmt::format("{} entries an attribute", query.operand(0).shape.size() - 2),
           std::to_string(entries.size()));
  }
}

std::vector<ValueType> conv_types(const TypeQuery& query) {
  const auto& conv = query.as<ConvAttributes>();
  const Shape& input = query.operand(0).shape;
  const Shape& weight = query.operand(1).shape;
  const bool transposed = query.op == Op::k_conv_transpose;
  if (input.size() < 3 || weight.size() != input.size() || !is_constant(weight)) {
    reject(query, "an input of at least 3 axes and constant weights of equal rank",
           operand_types(query));
  }
  require_spatial_entries(query, conv.strides);
  require_spatial_entries(query, conv.dilations);
  require_spatial_entries(query, conv.low);
  require_spatial_entries(query, conv.high);
  if (transposed) require_spatial_entries(query, conv.output_padding);
  const Dim channels = transposed ? weight[0] : weight[1] * Dim(conv.groups);
  const bool divisible = conv.groups > 0 && weight[0].constant() % conv.groups == 0;
  if (!divisible || !(input[1] == channels)) {
    reject(query, fmt::format("channels that fit {} groups", conv.groups), operand_types(query));
  }
  ValueType result{contraction_dtype(query, conv.accumulate), input};
  result.shape[1] = transposed ? weight[1] * Dim(conv.groups) : weight[0];
  for (size_t i = 0; i + 2 < input.size(); ++i) {
    const int64_t kernel = weight[i + 2].constant();
    if (!transposed) {
      result.shape[i + 2] = window_extent(query, input[i + 2], kernel, conv.strides[i],
                                          conv.dilations[i], conv.low[i], conv.high[i]);
      continue;
    }
    if (kernel < 1 || conv.strides[i] < 1 || conv.dilations[i] < 1) {
      reject(query, "kernel, strides and dilations of at least 1",
             fmt::format("{}, {} and {}", kernel, conv.strides[i], conv.dilations[i]));
    }
    result.shape[i + 2] = Dim(conv.strides[i]) * (input[i + 2] - 1) + conv.output_padding[i] +
                          ((kernel - 1) * conv.dilations[i] + 1) - conv.low[i] - conv.high[i];
    if (result.shape[i + 2].is_constant() && result.shape[i + 2].constant() < 0) {
      reject(query, "a result extent of at least 0", result.shape[i + 2].to_string());
    }
  }
  return {result};
}

}  // namespace

Dim window_extent(const TypeQuery& query, const Dim& extent, int64_t kernel, int64_t stride,
                  int64_t dilation, int64_t low, int64_t high) {
  if (kernel < 1 || stride < 1 || dilation < 1) {
    reject(query, "kernel, strides and dilations of at least 1",
           fmt::format("{}, {} and {}", kernel, stride, dilation));
  }
  if (low < 0 || high < 0) {
    reject(query, "padding of at least 0", fmt::format("{} and {}", low, high));
  }
  const Dim padded = extent + low + high;
  const int64_t window = (kernel - 1) * dilation + 1;
  if (padded.is_constant() && padded.constant() < window) {
    reject(query, fmt::format("a padded extent of at least {}", window), padded.to_string());
  }
  return floordiv(padded - window, stride) + 1;
}

std::vector<ValueType> reduction_types(const TypeQuery& query) {
  if (query.op == Op::k_reduce) return reduce_types(query);
  if (query.op == Op::k_argreduce) return argreduce_types(query);
  if (query.op == Op::k_reduce_window || query.op == Op::k_argwindow) return window_types(query);
  if (query.op == Op::k_cumulative) return cumulative_types(query);
  if (query.op == Op::k_top_k) return top_k_types(query);
  throw InternalError("a reduction has no type rule");
}

std::vector<ValueType> contraction_types(const TypeQuery& query) {
  return query.op == Op::k_matmul ? matmul_types(query) : conv_types(query);
}

}  // namespace stitch
