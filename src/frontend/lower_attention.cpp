// ONNX Attention (23, 24, 25) and RotaryEmbedding (operators.md 4.5).
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>

#include "frontend/attention_scores.h"
#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "frontend/rotary.h"
#include "graph/error.h"

namespace stitch {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Inputs of Attention by position.
enum Input : size_t { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kNonpadLength };

struct Heads {
  ValueId query, key, value;  // [batch, heads, length, size]
  int64_t groups = 1;         // query heads for each key and value head
  int64_t past = 0;
};

ValueId in_heads(NodeContext& n, size_t input, const char* attribute) {
  const ValueId x = n.input(input);
  if (n.builder().rank(x) == 4) return x;
  return split_heads(n.builder(), x, n.required_integer(attribute));
}

Heads heads_of(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  Heads h;
  h.query = in_heads(n, kQuery, "q_num_heads");
  h.key = in_heads(n, kKey, "kv_num_heads");
  h.value = in_heads(n, kValue, "kv_num_heads");
  if (n.has_input(kPastKey) && n.has_input(kPastValue)) {
    h.past = b.dim(n.input(kPastKey), 2).constant();
    h.key = b.concat({n.input(kPastKey), h.key}, 2);
    h.value = b.concat({n.input(kPastValue), h.value}, 2);
  }
  n.output(1, h.key);
  n.output(2, h.value);
  const int64_t query_heads = b.dim(h.query, 1).constant();
  const int64_t key_heads = b.dim(h.key, 1).constant();
  if (key_heads < 1 || query_heads % key_heads != 0) {
    throw ModelError(fmt::format("{} query heads for {} key heads", query_heads, key_heads));
  }
  h.groups = query_heads / key_heads;
  return h;
}

ValueId bias_of_bool(PrimitiveBuilder& b, ValueId allowed, DType dtype) {
  return b.select(allowed, b.scalar(dtype, 0), b.scalar(dtype, -kInfinity));
}

// The given mask as a bias, padded with -inf where it is shorter than the keys.
std::optional<ValueId> mask_bias(NodeContext& n, const Dim& keys, DType dtype) {
  if (!n.has_input(kMask)) return {};
  PrimitiveBuilder& b = n.builder();
  ValueId mask = n.input(kMask);
  mask = b.dtype(mask) == DType::kBool ? bias_of_bool(b, mask, dtype) : b.cast(mask, dtype);
  const Dim own = b.shape(mask).back();
  if (own == keys || own == Dim(1)) return mask;
  PadAttributes missing;
  missing.low.assign(b.rank(mask), Dim(0));
  missing.high.assign(b.rank(mask), Dim(0));
  missing.high.back() = keys - own;
  return b.pad(mask, b.scalar(dtype, -kInfinity), missing);
}

// Positions of keys as the queries see them: query i stands at i + offset.
struct Positions {
  ValueId query, key;  // int64, broadcasting to [batch, 1, queries, keys]
};

Positions positions_of(NodeContext& n, const Heads& h) {
  PrimitiveBuilder& b = n.builder();
  const Dim queries = b.dim(h.query, 2);
  const Dim keys = b.dim(h.key, 2);
  Positions p;
  p.query = b.iota(DType::kI64, {1, 1, queries, 1}, 2);
  p.key = b.iota(DType::kI64, {1, 1, 1, keys}, 3);
  if (n.has_input(kNonpadLength)) {
    const ValueId length = b.reshape(b.cast(n.input(kNonpadLength), DType::kI64),
                                     {b.dim(n.input(kNonpadLength), 0), 1, 1, 1});
    p.query = b.add(p.query, b.sub(length, b.scalar_integer(DType::kI64, queries.constant())));
  } else if (h.past != 0) {
    p.query = b.add(p.query, b.scalar_integer(DType::kI64, h.past));
  }
  return p;
}

// bool: which keys causality, windows and padding allow.
std::optional<ValueId> allowed_keys(NodeContext& n, const Heads& h) {
  PrimitiveBuilder& b = n.builder();
  std::optional<ValueId> allowed;
  const auto require = [&](ValueId condition) {
    allowed = allowed ? b.bitwise(BitwiseKind::kAnd, *allowed, condition) : condition;
  };
  const int64_t left = n.integer("left_window_size", -1);
  const int64_t right = n.integer("right_window_size", -1);
  const Positions p = positions_of(n, h);
  if (n.integer("is_causal", 0) != 0) require(b.compare(CompareKind::kLe, p.key, p.query));
  if (left >= 0) {
    const ValueId first = b.sub(p.query, b.scalar_integer(DType::kI64, left));
    require(b.compare(CompareKind::kLe, first, p.key));
  }
  if (right >= 0) {
    const ValueId last = b.add(p.query, b.scalar_integer(DType::kI64, right));
    require(b.compare(CompareKind::kLe, p.key, last));
  }
  if (n.has_input(kNonpadLength)) {
    const ValueId length = b.reshape(b.cast(n.input(kNonpadLength), DType::kI64),
                                     {b.dim(n.input(kNonpadLength), 0), 1, 1, 1});
    require(b.compare(CompareKind::kLt, p.key, length));
  }
  return allowed;
}

std::optional<ValueId> bias_of(NodeContext& n, const Heads& h, DType dtype) {
  PrimitiveBuilder& b = n.builder();
  std::optional<ValueId> bias = mask_bias(n, b.dim(h.key, 2), dtype);
  if (const auto allowed = allowed_keys(n, h)) {
    const ValueId hidden = bias_of_bool(b, *allowed, dtype);
    // Selected, not added: -inf must win over +inf.
    bias = bias ? b.select(*allowed, *bias, b.scalar(dtype, -kInfinity)) : hidden;
  }
  return bias;
}

void lower_attention(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const bool three_axes = n.rank(kQuery) == 3;
  const DType dtype = n.dtype(kQuery);
  const Heads h = heads_of(n);
  const double size = static_cast<double>(b.shape(h.query).back().constant());
  const double scale = n.number("scale", 1 / std::sqrt(size));
  const double root = std::sqrt(scale);  // both factors are scaled: it matters in float16
  const ValueId query = b.mul(h.query, root);
  const ValueId key = b.transpose(b.mul(h.key, root), {0, 1, 3, 2});
  ValueId scores = b.matmul(query, repeat_heads(b, key, h.groups));
  const int64_t mode = n.integer("qk_matmul_output_mode", 0);
  if (mode == 0) n.output(3, scores);
  const double softcap = n.number("softcap", 0);
  if (softcap > 0) {
    scores = b.mul(b.unary(Op::k_tanh, b.div(scores, softcap)), softcap);
  }
  if (mode == 1) n.output(3, scores);
  const DType compute = n.dtype_attribute("softmax_precision", compute_type(dtype));
  const std::optional<ValueId> bias = bias_of(n, h, dtype);
  if (mode == 2) n.output(3, bias ? b.add(scores, *bias) : scores);
  std::optional<ValueId> wide_bias;
  if (bias) wide_bias = b.cast(*bias, compute);
  const ValueId probabilities =
      b.cast(masked_softmax(b, b.cast(scores, compute), wide_bias), dtype);
  if (mode == 3) n.output(3, probabilities);
  const ValueId result = b.matmul(probabilities, repeat_heads(b, h.value, h.groups));
  n.output(0, three_axes ? merge_heads(b, result) : result);
}

// (x1, x2) to (x1 cos - x2 sin, x1 sin + x2 cos); pairs are halves, or neighbours if interleaved.
ValueId rotate(PrimitiveBuilder& b, ValueId x, ValueId cos, ValueId sin, bool interleaved) {
  const Shape shape = b.shape(x);  // [batch, heads, length, size]
  const int axis = 3;
  const Dim size = shape.back();
  const Dim half = floordiv(size, Dim(2));
  const ValueId first =
      interleaved ? b.slice_axis(x, axis, Dim(0), size, 2) : b.slice_axis(x, axis, Dim(0), half);
  const ValueId second =
      interleaved ? b.slice_axis(x, axis, Dim(1), size, 2) : b.slice_axis(x, axis, half, size);
  const ValueId real = b.sub(b.mul(first, cos), b.mul(second, sin));
  const ValueId imaginary = b.add(b.mul(first, sin), b.mul(second, cos));
  if (!interleaved) return b.concat({real, imaginary}, axis);
  Shape pairs = shape;
  pairs.back() = half;
  pairs.push_back(Dim(1));
  return b.reshape(b.concat({b.reshape(real, pairs), b.reshape(imaginary, pairs)}, axis + 1),
                   shape);
}

}  // namespace

ValueId rotary_embedding(PrimitiveBuilder& b, ValueId x, const RotaryTables& tables,
                         const RotaryOptions& options) {
  const bool three_axes = b.rank(x) == 3;
  const ValueId heads = three_axes ? split_heads(b, x, options.heads) : x;
  const Dim size = b.shape(heads).back();
  const Dim rotated = options.rotated == 0 ? size : Dim(options.rotated);
  const auto table = [&](ValueId cache) {
    // [positions, size/2] by ids, or [batch, length, size/2] as it is; then an axis for heads.
    const ValueId rows = tables.positions ? b.gather(cache, *tables.positions, 0) : cache;
    const Dim wanted = floordiv(rotated, Dim(2));
    const int last = static_cast<int>(b.rank(rows)) - 1;
    return b.insert_axis(b.slice_axis(rows, last, Dim(0), wanted), 1);
  };
  const ValueId turned = rotate(b, b.slice_axis(heads, 3, Dim(0), rotated), table(tables.cos),
                                table(tables.sin), options.interleaved);
  const ValueId result =
      rotated == size ? turned : b.concat({turned, b.slice_axis(heads, 3, rotated, size)}, 3);
  return three_axes ? merge_heads(b, result) : result;
}

namespace {

void lower_rotary_embedding(NodeContext& n) {
  RotaryTables tables{n.input(1), n.input(2), {}};
  if (n.has_input(3)) tables.positions = n.input(3);
  const RotaryOptions options{.heads = n.integer("num_heads", 0),
                              .rotated = n.integer("rotary_embedding_dim", 0),
                              .interleaved = n.integer("interleaved", 0) != 0};
  n.output(0, rotary_embedding(n.builder(), n.input(0), tables, options));
}

constexpr OperatorRow kRows[] = {
    {"Attention", 23, lower_attention},
    {"RotaryEmbedding", 23, lower_rotary_embedding},
};

}  // namespace

std::span<const OperatorRow> attention_operators() { return kRows; }

}  // namespace stitch
