// Recurrent forms of attention and convolution with a carried state: LinearAttention,
// CausalConvWithState.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "frontend/activation_functions.h"
#include "frontend/attention_scores.h"
#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "graph/error.h"

namespace stitch {
namespace {

// The state [batch, heads, d_k, d_v] after each token: decay * S + k (x) u, where u is v, or for
// the delta rules beta * (v - S^T k). Unrolled over the tokens.
class LinearAttention {
 public:
  explicit LinearAttention(NodeContext& n)
      : n_(n), b_(n.builder()), dtype_(n.dtype(0)), compute_(compute_type(dtype_)) {
    const std::string rule = n.text("update_rule", "gated_delta");
    gated_ = rule == "gated" || rule == "gated_delta";
    delta_ = rule == "delta" || rule == "gated_delta";
    if (!gated_ && !delta_ && rule != "linear") {
      throw ModelError(fmt::format("update_rule '{}' is not known", rule));
    }
    query_heads_ = n.required_integer("q_num_heads");
    heads_ = n.required_integer("kv_num_heads");
    if (heads_ < 1 || query_heads_ % heads_ != 0) {
      throw ModelError(fmt::format("{} query heads for {} key heads", query_heads_, heads_));
    }
    query_ = split_heads(b_, wide(0), query_heads_);
    key_ = split_heads(b_, wide(1), heads_);
    value_ = split_heads(b_, wide(2), heads_);
    if (gated_) decay_ = b_.unary(Op::k_exp, split_heads(b_, wide(4), heads_));
    if (delta_) {
      const ValueId beta = wide(5);
      beta_ = split_heads(b_, beta, b_.dim(beta, 2) == Dim(1) ? 1 : heads_);
    }
  }

  void run() {
    constexpr int64_t kMostTokens = 1024;  // unrolled
    const Shape keys = b_.shape(key_);
    const int64_t tokens = keys[2].constant();
    if (tokens < 1 || tokens > kMostTokens) throw ModelError(fmt::format("{} tokens", tokens));
    const Dim value_size = b_.dim(value_, 3);
    double scale = n_.number("scale", 0);
    if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(keys[3].constant()));
    ValueId state =
        n_.has_input(3) ? wide(3) : b_.filled(compute_, 0, {keys[0], heads_, keys[3], value_size});
    std::vector<ValueId> outputs;
    for (int64_t t = 0; t < tokens; ++t) {
      state = next_state(state, t);
      const ValueId shared = repeat_heads(b_, state, query_heads_ / heads_);
      outputs.push_back(b_.mul(b_.matmul(token(query_, t), shared), scale));
    }
    n_.output(0, b_.cast(merge_heads(b_, b_.concat(outputs, 2)), dtype_));
    if (n_.wants_output(1)) {
      n_.output(1, b_.cast(state, n_.has_input(3) ? n_.dtype(3) : dtype_));
    }
  }

 private:
  ValueId wide(size_t i) { return b_.cast(n_.input(i), compute_); }
  // [batch, heads, 1, size]
  ValueId token(ValueId x, int64_t t) { return b_.slice_axis(x, 2, Dim(t), Dim(t + 1)); }

  ValueId next_state(ValueId state, int64_t t) {
    const ValueId key = token(key_, t);
    if (gated_) state = b_.mul(state, b_.transpose(token(decay_, t), {0, 1, 3, 2}));
    ValueId update = token(value_, t);
    if (delta_) update = b_.mul(b_.sub(update, b_.matmul(key, state)), token(beta_, t));
    return b_.add(state, b_.mul(b_.transpose(key, {0, 1, 3, 2}), update));
  }

  NodeContext& n_;
  PrimitiveBuilder& b_;
  DType dtype_, compute_;
  bool gated_ = false, delta_ = false;
  int64_t query_heads_ = 0, heads_ = 0;
  ValueId query_, key_, value_, decay_, beta_;  // [batch, heads, tokens, size]
};

void lower_linear_attention(NodeContext& n) { LinearAttention(n).run(); }

// Inputs x [batch, channels, length], w [channels, 1, k], bias, past [batch, channels, k - 1].
void lower_causal_conv(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const Shape shape = n.shape(0);
  if (shape.size() != 3 || n.rank(1) != 3) throw ModelError("its operands do not have rank 3");
  const int64_t kernel = n.shape(1)[2].constant();
  const DType dtype = n.dtype(0);
  const ValueId past =
      n.has_input(3) ? n.input(3) : b.filled(dtype, 0, {shape[0], shape[1], Dim(kernel - 1)});
  const ValueId whole = kernel > 1 ? b.concat({past, n.input(0)}, 2) : n.input(0);
  ConvAttributes attributes;
  attributes.strides = attributes.dilations = {1};
  attributes.low = attributes.high = {0};
  attributes.groups = shape[1].constant();
  attributes.accumulate = compute_type(dtype);
  ValueId y = b.node(Op::k_conv, {whole, n.input(1)}, attributes);
  if (n.has_input(2)) y = b.add(y, b.broadcast_axes(n.input(2), b.shape(y), {1}));
  const std::string activation = n.text("activation", "none");
  if (activation == "silu" || activation == "swish") {
    y = b.cast(silu(b, b.cast(y, compute_type(dtype))), dtype);
  } else if (activation != "none") {
    throw ModelError(fmt::format("activation '{}' is not known", activation));
  }
  n.output(0, y);
  const Dim end = b.dim(whole, 2);
  n.output(1, b.slice_axis(whole, 2, end - Dim(kernel - 1), end));
}

constexpr OperatorRow kRows[] = {
    {"CausalConvWithState", 27, lower_causal_conv},
    {"LinearAttention", 27, lower_linear_attention},
};

}  // namespace

std::span<const OperatorRow> state_space_operators() { return kRows; }

}  // namespace stitch
