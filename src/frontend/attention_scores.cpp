#include "frontend/attention_scores.h"

#include <fmt/format.h>

#include <limits>

#include "frontend/softmax.h"
#include "graph/error.h"

namespace stitch {

ValueId split_heads(PrimitiveBuilder& b, ValueId x, int64_t heads) {
  const Shape s = b.shape(x);
  if (s.size() != 3 || heads < 1 || s[2].constant() % heads != 0) {
    throw ModelError(fmt::format("cannot split {} into {} heads", to_string(s), heads));
  }
  const ValueId split = b.reshape(x, {s[0], s[1], heads, floordiv(s[2], Dim(heads))});
  return b.transpose(split, {0, 2, 1, 3});
}

ValueId merge_heads(PrimitiveBuilder& b, ValueId x) {
  const Shape s = b.shape(x);
  return b.reshape(b.transpose(x, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
}

ValueId repeat_heads(PrimitiveBuilder& b, ValueId x, int64_t groups) {
  if (groups == 1) return x;
  const Shape s = b.shape(x);
  const Shape repeated = {s[0], s[1], groups, s[2], s[3]};
  return b.reshape(b.broadcast_axes(x, repeated, {0, 1, 3, 4}),
                   {s[0], s[1] * Dim(groups), s[2], s[3]});
}

ValueId causal_mask(PrimitiveBuilder& b, const Dim& queries, const Dim& keys, int64_t offset) {
  const Shape shape = {queries, keys};
  ValueId last = b.iota(DType::kI64, shape, 0);
  if (offset != 0) last = b.add(last, b.scalar_integer(DType::kI64, offset));
  return b.compare(CompareKind::kLe, b.iota(DType::kI64, shape, 1), last);
}

ValueId masked_softmax(PrimitiveBuilder& b, ValueId scores, std::optional<ValueId> bias) {
  const int axis = static_cast<int>(b.rank(scores)) - 1;
  if (!bias) return softmax(b, scores, {axis});
  const ValueId probabilities = softmax(b, b.add(scores, *bias), {axis});
  // max(bias) = -inf means that nothing may be seen.
  const int bias_axis = static_cast<int>(b.rank(*bias)) - 1;
  const ValueId most = b.reduce(ReduceKind::kMax, *bias, {bias_axis}, true);
  const ValueId none = b.compare(CompareKind::kEq, most, -std::numeric_limits<double>::infinity());
  return b.select(none, b.scalar(b.dtype(scores), 0), probabilities);
}

}  // namespace stitch
