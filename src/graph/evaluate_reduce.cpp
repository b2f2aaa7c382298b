// reduce and argreduce.
#include <algorithm>
#include <array>

#include "graph/op_evaluation.h"
#include "graph/reduction_scalar.h"
#include "graph/strided_copy.h"

namespace stitch {
namespace {

// A contiguous row in a fixed order that vectorises: 16 partial results, combined pairwise.
template <class T, class F>
T reduce_row(const T* row, int64_t count, T identity, F combine) {
  constexpr int64_t kLanes = 16;
  if (count < kLanes) {
    T total = identity;
    for (int64_t i = 0; i < count; ++i) total = combine(total, row[i]);
    return total;
  }
  std::array<T, kLanes> lanes;
  lanes.fill(identity);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = combine(lanes[lane], row[i + static_cast<int64_t>(lane)]);
    }
  }
  for (size_t lane = 0; lane < kLanes && i < count; ++i, ++lane) {
    lanes[lane] = combine(lanes[lane], row[i]);
  }
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t lane = 0; lane < half; ++lane) {
      lanes[lane] = combine(lanes[lane], lanes[lane + half]);
    }
  }
  return lanes[0];
}

// Walks the operand once in memory order; the view gives the offset in the result of each row.
template <class T, class F>
void reduce_all(const StridedView& targets, const T* in, T* out, T identity, F combine) {
  const int64_t row = targets.extents.back();
  const int64_t stride = targets.strides.back();
  for_each_row(targets, [&](int64_t offset) {
    T* target = out + offset;
    if (stride == 0) {
      *target = combine(*target, reduce_row(in, row, identity, combine));
    } else {
      for (int64_t i = 0; i < row; ++i) {
        target[i * stride] = combine(target[i * stride], in[i]);
      }
    }
    in += row;
  });
}

}  // namespace

Tensor evaluate_reduce(const OpCall& call) {
  const auto& reduce = call.as<ReduceAttributes>();
  const Tensor& operand = call.operand(0);
  const bool reduces_nothing = std::all_of(reduce.axes.begin(), reduce.axes.end(), [&](int axis) {
    return operand.extents()[static_cast<size_t>(axis)] == 1;
  });
  // The sum of one element is that element, -0 included; 0 + -0 would be 0.
  if (reduces_nothing) return operand.reshaped(call.result_extents);
  Tensor result = call.make_result();
  StridedView targets{operand.extents(), std::vector<int64_t>(operand.extents().size(), 0), 0};
  int64_t stride = 1;
  for (size_t axis = operand.extents().size(); axis-- > 0;) {
    const auto& axes = reduce.axes;
    if (std::find(axes.begin(), axes.end(), static_cast<int>(axis)) != axes.end()) continue;
    targets.strides[axis] = stride;
    stride *= operand.extents()[axis];
  }
  targets = joined(targets);
  visit_type(result.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T identity = reduction_identity<T>(reduce.kind);
    T* out = mutable_data<T>(result);
    std::fill(out, out + result.element_count(), identity);
    visit_combiner<T>(reduce.kind, [&](auto combine) {
      reduce_all(targets, data<T>(operand), out, identity, combine);
    });
  });
  return result;
}

Tensor evaluate_argreduce(const OpCall& call) {
  const auto& reduce = call.as<ArgReduceAttributes>();
  const Tensor& operand = call.operand(0);
  Tensor result(DType::kI64, call.result_extents);
  const AxisView view = view_along(operand.extents(), reduce.axis);
  visit_type(operand.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* in = data<T>(operand);
    int64_t* out = mutable_data<int64_t>(result);
    // Whether the later `x` takes the place of `best`: NaN wins over numbers.
    const auto replaces = [&](T x, T best) {
      if (x != x || best != best) return x != x && (best == best || reduce.last);
      if (x == best) return reduce.last;
      return reduce.kind == ReduceKind::kMax ? x > best : x < best;
    };
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t j = 0; j < view.inner; ++j) {
        const T* line = in + o * view.axis * view.inner + j;
        int64_t best = 0;
        for (int64_t i = 1; i < view.axis; ++i) {
          if (replaces(line[i * view.inner], line[best * view.inner])) best = i;
        }
        *out++ = best;
      }
    }
  });
  return result;
}

}  // namespace stitch
