// cumulative and top_k.
#include <algorithm>
#include <numeric>

#include "graph/op_evaluation.h"
#include "graph/reduction_scalar.h"

namespace stitch {
namespace {

// NaN is greater than every number, and equal values keep the order of their indices.
template <class T>
bool is_greater(T a, T b) {
  if (a != a) return b == b;
  return a > b;
}

}  // namespace

Tensor evaluate_cumulative(const OpCall& call) {
  const auto& cumulative = call.as<CumulativeAttributes>();
  const Tensor& operand = call.operand(0);
  Tensor result = call.make_result();
  const AxisView view = view_along(operand.extents(), cumulative.axis);
  visit_type(operand.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    visit_combiner<T>(cumulative.kind, [&](auto combine) {
      for (int64_t line = 0; line < view.outer * view.inner; ++line) {
        const int64_t start = line / view.inner * view.axis * view.inner + line % view.inner;
        const T* in = data<T>(operand) + start;
        T* out = mutable_data<T>(result) + start;
        T total = reduction_identity<T>(cumulative.kind);
        for (int64_t step = 0; step < view.axis; ++step) {
          const int64_t i = (cumulative.reverse ? view.axis - 1 - step : step) * view.inner;
          const T next = combine(total, in[i]);
          out[i] = cumulative.exclusive ? total : next;
          total = next;
        }
      }
    });
  });
  return result;
}

std::vector<Tensor> evaluate_top_k(const OpCall& call) {
  const auto& top_k = call.as<TopKAttributes>();
  const Tensor& operand = call.operand(0);
  Tensor values = call.make_result();
  Tensor indices(DType::kI64, call.result_extents);
  const AxisView view = view_along(operand.extents(), top_k.axis);
  visit_type(operand.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    T* values_out = mutable_data<T>(values);
    int64_t* indices_out = mutable_data<int64_t>(indices);
    std::vector<int64_t> order(static_cast<size_t>(view.axis));
    for (int64_t line = 0; line < view.outer * view.inner; ++line) {
      const int64_t outer = line / view.inner;
      const T* in = data<T>(operand) + outer * view.axis * view.inner + line % view.inner;
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + top_k.k, order.end(),
                        [&](int64_t a, int64_t b) {
                          const T x = in[a * view.inner];
                          const T y = in[b * view.inner];
                          if (is_greater(x, y)) return top_k.largest;
                          if (is_greater(y, x)) return !top_k.largest;
                          return a < b;
                        });
      for (int64_t i = 0; i < top_k.k; ++i) {
        const int64_t from = order[static_cast<size_t>(i)];
        const int64_t to = (outer * top_k.k + i) * view.inner + line % view.inner;
        values_out[to] = in[from * view.inner];
        indices_out[to] = from;
      }
    }
  });
  return {values, indices};
}

}  // namespace stitch
