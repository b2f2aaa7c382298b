// Result types of movement and indexed ops.
#include <algorithm>
#include <set>

#include "graph/type_rules.h"

namespace stitch {
namespace {

const ValueType& require_given(const TypeQuery& query) {
  if (query.given == nullptr) {
    throw InternalError(fmt::format("a {} node was made without its type", name(query.op)));
  }
  if (query.given->dtype != query.operand(0).dtype) {
    reject(query, fmt::format("a result of {}", name(query.operand(0).dtype)),
           to_string(*query.given));
  }
  return *query.given;
}

std::vector<ValueType> reshape_types(const TypeQuery& query) {
  const ValueType& given = require_given(query);
  const Dim difference = element_count(given.shape) - element_count(query.operand(0).shape);
  // Two counts over symbols that are not equal as expressions may still be equal at run time.
  if (difference.is_constant() && !(difference == Dim(0))) {
    reject(query, fmt::format("{} elements", element_count(query.operand(0).shape).to_string()),
           to_string(given));
  }
  return {given};
}

std::vector<ValueType> broadcast_types(const TypeQuery& query) {
  const ValueType& given = require_given(query);
  const std::vector<int>& axes = query.as<BroadcastAttributes>().axes;
  const Shape& from = query.operand(0).shape;
  if (axes.size() != from.size()) {
    reject(query, fmt::format("{} axes", from.size()), std::to_string(axes.size()));
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    require_axis(query, axes[i], static_cast<int>(given.shape.size()));
    if (i > 0 && axes[i] <= axes[i - 1]) {
      reject(query, "increasing axes", fmt::format("{} after {}", axes[i], axes[i - 1]));
    }
    const Dim& to = given.shape[static_cast<size_t>(axes[i])];
    if (!(from[i] == Dim(1)) && !(from[i] == to)) {
      reject(query, fmt::format("extent {} or 1 on operand axis {}", to.to_string(), i),
             to_string(query.operand(0)));
    }
  }
  return {given};
}

std::vector<ValueType> transpose_types(const TypeQuery& query) {
  const std::vector<int>& perm = query.as<TransposeAttributes>().perm;
  const ValueType& from = query.operand(0);
  std::vector<int> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  bool fits = sorted.size() == from.shape.size();
  for (size_t i = 0; fits && i < sorted.size(); ++i) fits = sorted[i] == static_cast<int>(i);
  if (!fits) {
    reject(query, fmt::format("a permutation of {} axes", from.shape.size()),
           fmt::format("[{}]", fmt::join(perm, ",")));
  }
  ValueType result{from.dtype, {}};
  for (const int axis : perm) result.shape.push_back(from.shape[static_cast<size_t>(axis)]);
  return {result};
}

void require_rank_entries(const TypeQuery& query, size_t entries, const char* what) {
  if (entries != query.operand(0).shape.size()) {
    reject(query, fmt::format("{} {}", query.operand(0).shape.size(), what),
           std::to_string(entries));
  }
}

std::vector<ValueType> slice_types(const TypeQuery& query) {
  const auto& slice = query.as<SliceAttributes>();
  require_rank_entries(query, slice.starts.size(), "starts");
  require_rank_entries(query, slice.limits.size(), "limits");
  require_rank_entries(query, slice.steps.size(), "steps");
  ValueType result = query.operand(0);
  for (size_t i = 0; i < result.shape.size(); ++i) {
    const Dim& start = slice.starts[i];
    const Dim& limit = slice.limits[i];
    const int64_t step = slice.steps[i];
    if (step <= 0) reject(query, "positive steps", std::to_string(step));
    const auto negative = [](const Dim& dim) { return dim.is_constant() && dim.constant() < 0; };
    if (negative(start) || negative(limit - start) || negative(result.shape[i] - limit)) {
      reject(query,
             fmt::format("0 <= start <= limit <= {} on axis {}", result.shape[i].to_string(), i),
             fmt::format("start {} and limit {}", start.to_string(), limit.to_string()));
    }
    result.shape[i] = floordiv(max(limit - start, 0) + (step - 1), step);
  }
  return {result};
}

std::vector<ValueType> reverse_types(const TypeQuery& query) {
  for (const int axis : query.as<ReverseAttributes>().axes) {
    require_axis(query, axis, query.rank(0));
  }
  return {query.operand(0)};
}

std::vector<ValueType> pad_types(const TypeQuery& query) {
  const auto& pad = query.as<PadAttributes>();
  require_rank_entries(query, pad.low.size(), "low amounts");
  require_rank_entries(query, pad.high.size(), "high amounts");
  if (!query.operand(1).shape.empty() || query.operand(1).dtype != query.operand(0).dtype) {
    reject(query, fmt::format("a fill value {}[]", name(query.operand(0).dtype)),
           to_string(query.operand(1)));
  }
  ValueType result = query.operand(0);
  for (size_t i = 0; i < result.shape.size(); ++i) {
    for (const Dim& amount : {pad.low[i], pad.high[i]}) {
      if (amount.is_constant() && amount.constant() < 0) {
        reject(query, "amounts of at least 0", amount.to_string());
      }
    }
    const Dim padded = result.shape[i] + pad.low[i] + pad.high[i];
    if (pad.mode != PadMode::kConstant && result.shape[i] == Dim(0) && !(padded == Dim(0))) {
      reject(query, "elements to repeat", to_string(query.operand(0)));
    }
    result.shape[i] = padded;
  }
  return {result};
}

std::vector<ValueType> concat_types(const TypeQuery& query) {
  if (query.operands.empty()) reject(query, "at least one operand", "none");
  const int axis = query.as<AxisAttributes>().axis;
  require_axis(query, axis, query.rank(0));
  ValueType result = query.operand(0);
  Dim& extent = result.shape[static_cast<size_t>(axis)];
  for (size_t i = 1; i < query.operands.size(); ++i) {
    ValueType other = query.operand(i);
    if (other.shape.size() == result.shape.size()) {
      const Dim part = other.shape[static_cast<size_t>(axis)];
      other.shape[static_cast<size_t>(axis)] = extent;
      if (other == result) {
        extent = extent + part;
        continue;
      }
    }
    reject(query, fmt::format("operands of equal type but for axis {}", axis),
           operand_types(query));
  }
  return {result};
}

void require_index(const TypeQuery& query, const ValueType& index) {
  if (index.dtype != DType::kI32 && index.dtype != DType::kI64) {
    reject(query, "i32 or i64 indices", to_string(index));
  }
}

std::vector<ValueType> gather_types(const TypeQuery& query) {
  const int axis = query.as<AxisAttributes>().axis;
  require_axis(query, axis, query.rank(0));
  require_index(query, query.operand(1));
  const Shape& from = query.operand(0).shape;
  const Shape& index = query.operand(1).shape;
  Shape shape(from.begin(), from.begin() + axis);
  shape.insert(shape.end(), index.begin(), index.end());
  shape.insert(shape.end(), from.begin() + axis + 1, from.end());
  return {{query.operand(0).dtype, shape}};
}

std::vector<ValueType> gather_elements_types(const TypeQuery& query) {
  require_axis(query, query.as<AxisAttributes>().axis, query.rank(0));
  require_index(query, query.operand(1));
  if (query.rank(0) != query.rank(1)) {
    reject(query, "indices of the rank of the data", operand_types(query));
  }
  return {{query.operand(0).dtype, query.operand(1).shape}};
}

// Number of coordinates in a row of indices: the constant last extent.
size_t coordinate_count(const TypeQuery& query, int available) {
  const Shape& index = query.operand(1).shape;
  if (index.empty() || !index.back().is_constant() || index.back().constant() > available) {
    reject(query, fmt::format("indices with a constant last extent of at most {}", available),
           to_string(query.operand(1)));
  }
  return static_cast<size_t>(index.back().constant());
}

std::vector<ValueType> gather_nd_types(const TypeQuery& query) {
  require_index(query, query.operand(1));
  const int batch = query.as<GatherNdAttributes>().batch_dims;
  const Shape& from = query.operand(0).shape;
  const Shape& index = query.operand(1).shape;
  if (batch < 0 || batch >= query.rank(1) || batch > query.rank(0) ||
      !std::equal(from.begin(), from.begin() + batch, index.begin())) {
    reject(query, fmt::format("{} equal batch extents", batch), operand_types(query));
  }
  const size_t coordinates = coordinate_count(query, query.rank(0) - batch);
  Shape shape(index.begin(), index.end() - 1);
  shape.insert(shape.end(), from.begin() + batch + static_cast<std::ptrdiff_t>(coordinates),
               from.end());
  return {{query.operand(0).dtype, shape}};
}

void require_scatter_kind(const TypeQuery& query) {
  const ScatterKind kind = query.as<ScatterAttributes>().kind;
  if (query.operand(0).dtype == DType::kBool &&
      (kind == ScatterKind::kAdd || kind == ScatterKind::kMul)) {
    reject(query, "numbers to add or multiply", operand_types(query));
  }
}

std::vector<ValueType> scatter_elements_types(const TypeQuery& query) {
  require_axis(query, query.as<ScatterAttributes>().axis, query.rank(0));
  require_index(query, query.operand(1));
  require_scatter_kind(query);
  const ValueType updates{query.operand(0).dtype, query.operand(1).shape};
  if (!(query.operand(2) == updates) || query.rank(0) != query.rank(1)) {
    reject(query, "indices of the rank of the data and updates of the shape of the indices",
           operand_types(query));
  }
  return {query.operand(0)};
}

std::vector<ValueType> scatter_nd_types(const TypeQuery& query) {
  require_index(query, query.operand(1));
  require_scatter_kind(query);
  const size_t coordinates = coordinate_count(query, query.rank(0));
  const Shape& into = query.operand(0).shape;
  const Shape& index = query.operand(1).shape;
  ValueType updates{query.operand(0).dtype, Shape(index.begin(), index.end() - 1)};
  updates.shape.insert(updates.shape.end(), into.begin() + static_cast<std::ptrdiff_t>(coordinates),
                       into.end());
  if (!(query.operand(2) == updates)) {
    reject(query, "updates " + to_string(updates), to_string(query.operand(2)));
  }
  return {query.operand(0)};
}

}  // namespace

std::vector<ValueType> movement_types(const TypeQuery& query) {
  if (query.op == Op::k_reshape) return reshape_types(query);
  if (query.op == Op::k_broadcast) return broadcast_types(query);
  if (query.op == Op::k_transpose) return transpose_types(query);
  if (query.op == Op::k_slice) return slice_types(query);
  if (query.op == Op::k_reverse) return reverse_types(query);
  if (query.op == Op::k_pad) return pad_types(query);
  if (query.op == Op::k_concat) return concat_types(query);
  throw InternalError("a movement op has no type rule");
}

std::vector<ValueType> indexed_types(const TypeQuery& query) {
  if (query.op == Op::k_gather) return gather_types(query);
  if (query.op == Op::k_gather_elements) return gather_elements_types(query);
  if (query.op == Op::k_gather_nd) return gather_nd_types(query);
  if (query.op == Op::k_scatter_elements) return scatter_elements_types(query);
  if (query.op == Op::k_scatter_nd) return scatter_nd_types(query);
  throw InternalError("an indexed op has no type rule");
}

}  // namespace stitch
