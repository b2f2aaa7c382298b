// Operators that read or write at computed positions: Gather, Scatter, OneHot, Trilu, TopK, CumSum.
#include <fmt/format.h>

#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "graph/error.h"

namespace stitch {
namespace {

// Negative indices count from the end: the primitives themselves wrap them once.
void lower_gather(NodeContext& n) {
  const int axis = normalise_axis(n.integer("axis", 0), n.rank(0));
  n.output(0, n.builder().gather(n.input(0), n.input(1), axis));
}

void lower_gather_elements(NodeContext& n) {
  const int axis = normalise_axis(n.integer("axis", 0), n.rank(0));
  n.output(0, n.builder().gather_elements(n.input(0), n.input(1), axis));
}

void lower_gather_nd(NodeContext& n) {
  const int64_t batch_dims = n.integer("batch_dims", 0);
  if (batch_dims < 0 || static_cast<size_t>(batch_dims) >= n.rank(1)) {
    throw ModelError(fmt::format("batch_dims is {}", batch_dims));
  }
  n.output(0, n.builder().gather_nd(n.input(0), n.input(1), static_cast<int>(batch_dims)));
}

ScatterKind scatter_kind(NodeContext& n) {
  const std::string reduction = n.text("reduction", "none");
  if (reduction == "none") return ScatterKind::kNone;
  if (reduction == "add") return ScatterKind::kAdd;
  if (reduction == "mul") return ScatterKind::kMul;
  if (reduction == "min") return ScatterKind::kMin;
  if (reduction == "max") return ScatterKind::kMax;
  throw ModelError(fmt::format("reduction '{}' is not none, add, mul, min or max", reduction));
}

void lower_scatter_elements(NodeContext& n) {
  const int axis = normalise_axis(n.integer("axis", 0), n.rank(0));
  n.output(0, n.builder().node(Op::k_scatter_elements, {n.input(0), n.input(1), n.input(2)},
                               ScatterAttributes{.axis = axis, .kind = scatter_kind(n)}));
}

void lower_scatter_nd(NodeContext& n) {
  n.output(0, n.builder().node(Op::k_scatter_nd, {n.input(0), n.input(1), n.input(2)},
                               ScatterAttributes{.kind = scatter_kind(n)}));
}

// on where the index equals the position along the new axis, off elsewhere. An index outside
// [-depth, depth) hits nothing; fractions are cut off.
void lower_one_hot(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const int64_t depth = n.known_integer(1);
  if (depth < 0) throw ModelError(fmt::format("depth is {}", depth));
  const ValueId indices = b.wrap_indices(b.cast(n.input(0), DType::kI64), Dim(depth));
  Shape shape = b.shape(indices);
  const int axis = normalise_axis(n.integer("axis", -1), shape.size() + 1);
  shape.insert(shape.begin() + axis, Dim(depth));
  const ValueId hit = b.compare(CompareKind::kEq, b.spread(indices, shape, {axis}),
                                b.iota(DType::kI64, shape, axis));
  const ValueId values = n.input(2);  // [off, on]
  const auto value = [&](int64_t i) {
    return b.reshape(b.slice_axis(values, 0, Dim(i), Dim(i + 1)), {});
  };
  n.output(0, b.select(hit, value(1), value(0)));
}

void lower_trilu(NodeContext& n) {  // keeps columns from the k-th diagonal on, or up to it
  PrimitiveBuilder& b = n.builder();
  const ValueId x = n.input(0);
  const Shape shape = b.shape(x);
  if (shape.size() < 2) throw ModelError(fmt::format("input 0 has rank {}", shape.size()));
  const Shape matrix(shape.end() - 2, shape.end());
  ValueId diagonal = b.iota(DType::kI64, matrix, 0);
  if (n.has_input(1)) diagonal = b.add(diagonal, b.reshape(n.input(1), {}));
  const ValueId column = b.iota(DType::kI64, matrix, 1);
  const ValueId keep = n.integer("upper", 1) != 0 ? b.compare(CompareKind::kLe, diagonal, column)
                                                  : b.compare(CompareKind::kLe, column, diagonal);
  n.output(0, b.select(keep, x, b.scalar(b.dtype(x), 0.0)));
}

template <ReduceKind kind>
void lower_cumulative(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const ValueId x = n.input(0);
  const int axis = normalise_axis(n.known_integer(1), b.rank(x));
  n.output(0, b.node(Op::k_cumulative, {x},
                     CumulativeAttributes{.kind = kind,
                                          .axis = axis,
                                          .exclusive = n.integer("exclusive", 0) != 0,
                                          .reverse = n.integer("reverse", 0) != 0}));
}

void lower_top_k(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const ValueId x = n.input(0);
  TopKAttributes attributes;
  attributes.axis = normalise_axis(n.integer("axis", -1), b.rank(x));
  attributes.k = n.since_version() < 10 ? n.required_integer("k") : n.known_integer(1);
  attributes.largest = n.integer("largest", 1) != 0;
  attributes.sorted = n.integer("sorted", 1) != 0;
  const NodeId node = b.node_of_many(Op::k_top_k, {x}, attributes);
  const std::vector<ValueId> results = b.graph().node(node).results;
  n.output(0, results[0]);
  n.output(1, results[1]);
}

// The first `len` steps of each sequence backwards: position t reads len - 1 - t while t < len.
void lower_reverse_sequence(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const ValueId x = n.input(0);
  const Shape shape = b.shape(x);
  const int time = normalise_axis(n.integer("time_axis", 0), shape.size());
  const int batch = normalise_axis(n.integer("batch_axis", 1), shape.size());
  if (time == batch) throw ModelError("time_axis and batch_axis are the same");
  const ValueId length = b.broadcast_axes(n.input(1), shape, {batch});
  const ValueId step = b.iota(DType::kI64, shape, time);
  const ValueId mirrored = b.sub(b.sub(length, 1.0), step);
  const ValueId index = b.select(b.compare(CompareKind::kLt, step, length), mirrored, step);
  n.output(0, b.gather_elements(x, index, time));
}

constexpr OperatorRow kRows[] = {
    {"CumProd", 26, lower_cumulative<ReduceKind::kProd>},
    {"CumSum", 11, lower_cumulative<ReduceKind::kSum>},
    {"Gather", 1, lower_gather},
    {"GatherElements", 11, lower_gather_elements},
    {"GatherND", 11, lower_gather_nd},
    {"GatherND", 1, lower_gather_nd, "com.microsoft"},
    {"OneHot", 9, lower_one_hot},
    {"ReverseSequence", 10, lower_reverse_sequence},
    {"Scatter", 9, lower_scatter_elements},
    {"ScatterElements", 11, lower_scatter_elements},
    {"ScatterND", 11, lower_scatter_nd},
    {"TopK", 1, lower_top_k},
    {"TopK", 10, lower_top_k},
    {"Trilu", 14, lower_trilu},
    {"Trilu", 1, lower_trilu, "com.microsoft"},
};

}  // namespace

std::span<const OperatorRow> indexing_operators() { return kRows; }

}  // namespace stitch
