// onnxruntime's Attention, MultiHeadAttention and RotaryEmbedding (operators.md 2.2): masked scores
// get a large negative number added, not -inf.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "frontend/attention_scores.h"
#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "frontend/rotary.h"
#include "frontend/softmax.h"
#include "graph/error.h"

namespace stitch {
namespace {

constexpr std::string_view kMicrosoft = "com.microsoft";

struct Heads {
  ValueId query, key, value;  // [batch, heads, length, size]
};

// 0 where a key may be seen, mask_filter_value elsewhere; broadcasting to the scores.
std::optional<ValueId> mask_bias(NodeContext& n, size_t input, const Heads& h, DType dtype) {
  if (!n.has_input(input)) return {};
  PrimitiveBuilder& b = n.builder();
  const ValueId mask = n.input(input);
  const Dim batch = b.dim(h.query, 0);
  const Dim keys = b.dim(h.key, 2);
  const Shape shape = b.shape(mask);
  ValueId seen;
  if (shape.size() == 1 && shape[0] == batch) {  // how many keys each row has
    const ValueId position = b.iota(DType::kI32, {1, 1, 1, keys}, 3);
    seen = b.compare(CompareKind::kLt, position,
                     b.reshape(b.cast(mask, DType::kI32), {batch, 1, 1, 1}));
  } else if (shape.size() == 2 && shape[1] == keys) {
    seen = b.reshape(b.cast(mask, DType::kBool), {shape[0], 1, 1, keys});
  } else if (shape.size() == 3 && shape[2] == keys) {
    seen = b.reshape(b.cast(mask, DType::kBool), {shape[0], 1, shape[1], keys});
  } else {
    throw ModelError(fmt::format("a mask of shape {} is not supported", to_string(shape)));
  }
  const double filter = n.number("mask_filter_value", -10000);
  return b.select(seen, b.scalar(dtype, 0), b.scalar(dtype, filter));
}

ValueId attend(NodeContext& n, const Heads& h, std::optional<ValueId> mask,
               std::optional<ValueId> bias) {
  PrimitiveBuilder& b = n.builder();
  const DType dtype = b.dtype(h.query);
  const DType compute = compute_type(dtype);
  const double size = static_cast<double>(b.dim(h.query, 3).constant());
  double scale = n.number("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(size);
  ValueId scores = b.matmul(h.query, b.transpose(h.key, {0, 1, 3, 2}));
  scores = b.mul(b.cast(scores, compute), scale);
  const Dim queries = b.dim(h.query, 2);
  const Dim keys = b.dim(h.key, 2);
  if (n.integer("unidirectional", 0) != 0) {
    const int64_t past = (keys - queries).constant();
    const ValueId hidden = b.scalar(compute, n.number("mask_filter_value", -10000));
    const ValueId seen = causal_mask(b, queries, keys, past);
    scores = b.select(seen, scores, mask ? b.add(scores, hidden) : hidden);
  }
  if (mask) scores = b.add(scores, b.cast(*mask, compute));
  if (bias) scores = b.add(scores, b.cast(*bias, compute));
  const ValueId probabilities = b.cast(softmax(b, scores, {3}), dtype);
  return merge_heads(b, b.matmul(probabilities, h.value));
}

// Inputs x, weights, bias, mask, past, attention bias; weights hold Q, K, V side by side.
void lower_attention(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const int64_t heads = n.required_integer("num_heads");
  ValueId all = b.matmul(n.input(0), n.input(1));
  if (n.has_input(2)) all = b.add(all, n.input(2));
  std::vector<int64_t> sizes = n.integers("qkv_hidden_sizes");
  const int64_t total = b.dim(all, 2).constant();
  if (sizes.empty()) sizes.assign(3, total / 3);
  if (sizes.size() != 3 || sizes[0] + sizes[1] + sizes[2] != total) {
    throw ModelError(fmt::format("weights of {} columns for Q, K and V", total));
  }
  const auto part = [&](int64_t start, int64_t size) {
    return split_heads(b, b.slice_axis(all, 2, Dim(start), Dim(start + size)), heads);
  };
  Heads h{part(0, sizes[0]), part(sizes[0], sizes[1]), part(sizes[0] + sizes[1], sizes[2])};
  if (n.has_input(4)) {  // [2, batch, heads, past, size]
    const ValueId past = n.input(4);
    const auto of = [&](int64_t i) {
      return b.drop_axis(b.slice_axis(past, 0, Dim(i), Dim(i + 1)), 0);
    };
    h.key = b.concat({of(0), h.key}, 2);
    h.value = b.concat({of(1), h.value}, 2);
  }
  if (n.wants_output(1)) {
    n.output(1, b.concat({b.insert_axis(h.key, 0), b.insert_axis(h.value, 0)}, 0));
  }
  const auto bias = n.has_input(5) ? std::optional(n.input(5)) : std::nullopt;
  n.output(0, attend(n, h, mask_bias(n, 3, h, compute_type(n.dtype(0))), bias));
}

// Inputs query, key, value, bias, key padding mask, attention bias, past key, past value.
void lower_multi_head_attention(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const int64_t heads = n.required_integer("num_heads");
  if (!n.has_input(1) || !n.has_input(2)) {
    throw ModelError("packed queries, keys and values are not supported");
  }
  int64_t start = 0;
  const auto in_heads = [&](size_t i) {
    ValueId x = n.input(i);
    if (b.rank(x) == 4) return x;  // keys and values of cross attention
    if (n.has_input(3)) {
      const int64_t size = b.dim(x, 2).constant();
      x = b.add(x, b.slice_axis(n.input(3), 0, Dim(start), Dim(start + size)));
      start += size;
    }
    return split_heads(b, x, heads);
  };
  Heads h;
  h.query = in_heads(0);
  h.key = in_heads(1);
  h.value = in_heads(2);
  if (n.has_input(6) && n.has_input(7)) {
    h.key = b.concat({n.input(6), h.key}, 2);
    h.value = b.concat({n.input(7), h.value}, 2);
  }
  n.output(1, h.key);
  n.output(2, h.value);
  const auto bias = n.has_input(5) ? std::optional(n.input(5)) : std::nullopt;
  n.output(0, attend(n, h, mask_bias(n, 4, h, compute_type(n.dtype(0))), bias));
}

// Inputs x, position ids, cos, sin; one id stands for the first position of a range.
void lower_rotary_embedding(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  ValueId ids = n.input(1);
  const int length_axis = b.rank(n.input(0)) == 3 ? 1 : 2;
  if (element_count(b.shape(ids)) == Dim(1)) {
    const Dim length = b.dim(n.input(0), length_axis);
    ids = b.add(b.iota(b.dtype(ids), {1, length}, 1), b.reshape(ids, {}));
  }
  const int64_t half = b.dim(n.input(2), 1).constant();
  int64_t heads = n.integer("num_heads", 0);
  if (heads == 0 && b.rank(n.input(0)) == 3) {
    heads = b.dim(n.input(0), 2).constant() / (2 * half);
  }
  const RotaryOptions options{.heads = heads,
                              .rotated = n.integer("rotary_embedding_dim", 0),
                              .interleaved = n.integer("interleaved", 0) != 0};
  n.output(0, rotary_embedding(b, n.input(0), {n.input(2), n.input(3), ids}, options));
}

constexpr OperatorRow kRows[] = {
    {"Attention", 1, lower_attention, kMicrosoft},
    {"MultiHeadAttention", 1, lower_multi_head_attention, kMicrosoft},
    {"RotaryEmbedding", 1, lower_rotary_embedding, kMicrosoft},
};

}  // namespace

std::span<const OperatorRow> contrib_attention_operators() { return kRows; }

}  // namespace stitch
