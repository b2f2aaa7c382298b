// Scaled dot-product attention as primitives: what ONNX Attention and onnxruntime's forms share.
#pragma once
#include <optional>

#include "frontend/primitive_builder.h"

namespace stitch {

// [batch, length, heads * size] to [batch, heads, length, size], and back.
ValueId split_heads(PrimitiveBuilder& b, ValueId x, int64_t heads);
ValueId merge_heads(PrimitiveBuilder& b, ValueId x);
// Each of the kv heads stands for `groups` query heads in a row: a broadcast, not a copy.
ValueId repeat_heads(PrimitiveBuilder& b, ValueId x, int64_t groups);

// bool[queries, keys]: key j may be seen by query i iff j <= i + offset.
ValueId causal_mask(PrimitiveBuilder& b, const Dim& queries, const Dim& keys, int64_t offset);

// Probabilities over the last axis of scores + bias. A row whose bias is -inf throughout gives
// zeros, not NaN.
ValueId masked_softmax(PrimitiveBuilder& b, ValueId scores, std::optional<ValueId> bias);

}  // namespace stitch
