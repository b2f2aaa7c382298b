// Reductions over axes: the Reduce family, ArgMax and ArgMin.
#include <limits>
#include <numeric>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "frontend/widened.h"

namespace stitch {
namespace {

struct Reduction {
  std::vector<int> axes;  // empty: nothing is reduced
  bool keep = true;
};

// Axes are an attribute at first and an input later (ReduceSum 13, the others 18); either way
// negative ones count from the end, and none means all unless noop_with_empty_axes is set.
Reduction reduction_of(NodeContext& n) {
  Reduction result;
  result.keep = n.integer("keepdims", 1) != 0;
  const std::vector<int64_t> axes = n.has_input(1) ? n.known_integers(1) : n.integers("axes");
  result.axes = normalise_axes(axes, n.rank(0));
  if (axes.empty() && n.integer("noop_with_empty_axes", 0) == 0) {
    result.axes.resize(n.rank(0));
    std::iota(result.axes.begin(), result.axes.end(), 0);
  }
  return result;
}

template <ReduceKind kind>
void lower_reduce(NodeContext& n) {
  const Reduction r = reduction_of(n);
  n.output(0, n.builder().reduce(kind, n.input(0), r.axes, r.keep));
}

// f maps the operand, in its type of computation, to the result. Integers that need logarithms or
// roots are computed in float64.
template <class F>
void lower_composite(NodeContext& n, bool needs_float, const F& f) {
  PrimitiveBuilder& b = n.builder();
  const Reduction r = reduction_of(n);
  const DType dtype = n.dtype(0);
  const DType compute = is_float(dtype) || !needs_float ? compute_type(dtype) : DType::kF64;
  n.output(0, b.cast(f(b.cast(n.input(0), compute), r), dtype));
}

void lower_reduce_mean(NodeContext& n) {
  lower_composite(n, false, [&](ValueId x, const Reduction& r) {
    return r.axes.empty() ? x : n.builder().mean(x, r.axes, r.keep);
  });
}

void lower_reduce_l1(NodeContext& n) {
  lower_composite(n, false, [&](ValueId x, const Reduction& r) {
    return n.builder().reduce(ReduceKind::kSum, n.builder().unary(Op::k_abs, x), r.axes, r.keep);
  });
}

ValueId sum_of_squares(PrimitiveBuilder& b, ValueId x, const Reduction& r) {
  return b.reduce(ReduceKind::kSum, b.mul(x, x), r.axes, r.keep);
}

void lower_reduce_l2(NodeContext& n) {
  lower_composite(n, true, [&](ValueId x, const Reduction& r) {
    return n.builder().unary(Op::k_sqrt, sum_of_squares(n.builder(), x, r));
  });
}

void lower_reduce_sum_square(NodeContext& n) {
  lower_composite(n, false,
                  [&](ValueId x, const Reduction& r) { return sum_of_squares(n.builder(), x, r); });
}

void lower_reduce_log_sum(NodeContext& n) {
  lower_composite(n, true, [&](ValueId x, const Reduction& r) {
    PrimitiveBuilder& b = n.builder();
    return b.unary(Op::k_log, b.reduce(ReduceKind::kSum, x, r.axes, r.keep));
  });
}

// m + log(sum(exp(x - m))) with m = max(x); 0 instead of an infinite or NaN m, so that all -inf
// gives -inf and one +inf gives +inf.
void lower_reduce_log_sum_exp(NodeContext& n) {
  lower_composite(n, true, [&](ValueId x, const Reduction& r) {
    PrimitiveBuilder& b = n.builder();
    const Shape whole = b.shape(x);
    const ValueId max = b.reduce(ReduceKind::kMax, x, r.axes, false);
    const ValueId zero = b.scalar(b.dtype(x), 0.0);
    const ValueId finite = b.compare(CompareKind::kLt, b.unary(Op::k_abs, max),
                                     std::numeric_limits<double>::infinity());
    const ValueId shift = b.select(finite, max, zero);
    const ValueId shifted = b.sub(x, b.spread(shift, whole, r.axes));
    const ValueId sum = b.reduce(ReduceKind::kSum, b.unary(Op::k_exp, shifted), r.axes, false);
    const ValueId result = b.add(b.unary(Op::k_log, sum), shift);
    if (!r.keep) return result;
    Shape kept = whole;
    for (const int axis : r.axes) kept[static_cast<size_t>(axis)] = Dim(1);
    return b.reshape(result, kept);
  });
}

template <ReduceKind kind>
void lower_arg_reduce(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const ValueId x = n.input(0);
  const int axis = normalise_axis(n.integer("axis", 0), b.rank(x));
  const bool last = n.integer("select_last_index", 0) != 0;
  const ValueId index =
      b.node(Op::k_argreduce, {x}, ArgReduceAttributes{.kind = kind, .axis = axis, .last = last});
  n.output(0, n.integer("keepdims", 1) != 0 ? b.insert_axis(index, axis) : index);
}

constexpr OperatorRow kRows[] = {
    {"ArgMax", 1, lower_arg_reduce<ReduceKind::kMax>},
    {"ArgMin", 1, lower_arg_reduce<ReduceKind::kMin>},
    {"ReduceL1", 1, lower_reduce_l1},
    {"ReduceL2", 1, lower_reduce_l2},
    {"ReduceLogSum", 1, lower_reduce_log_sum},
    {"ReduceLogSumExp", 1, lower_reduce_log_sum_exp},
    {"ReduceMax", 1, lower_reduce<ReduceKind::kMax>},
    {"ReduceMean", 1, lower_reduce_mean},
    {"ReduceMin", 1, lower_reduce<ReduceKind::kMin>},
    {"ReduceProd", 1, lower_reduce<ReduceKind::kProd>},
    {"ReduceSum", 1, lower_reduce<ReduceKind::kSum>},
    {"ReduceSumSquare", 1, lower_reduce_sum_square},
};

}  // namespace

std::span<const OperatorRow> reduction_operators() { return kRows; }

}  // namespace stitch
