// Einsum by pairs of operands: batch, free and contracted labels, then one matmul
// (operators.md 4.6). "bij,bjk->bik" is one batched matmul; "i,j->ij" a broadcast product.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/einsum.h"
#include "frontend/node_context.h"
#include "frontend/operator_table.h"
#include "graph/error.h"

namespace stitch {
namespace {

struct Labelled {
  ValueId value;
  std::string labels;
};

bool has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

Dim extent_of(PrimitiveBuilder& b, const Labelled& x, char label) {
  return b.dim(x.value, static_cast<int>(x.labels.find(label)));
}

// x[i,i] to its diagonal: select(i == j, x, 0) summed over j.
Labelled take_diagonals(PrimitiveBuilder& b, Labelled x) {
  for (size_t second = 1; second < x.labels.size(); ++second) {
    const size_t first = x.labels.find(x.labels[second]);
    if (first == second) continue;
    const Shape shape = b.shape(x.value);
    if (!(shape[first] == shape[second])) {
      throw ModelError(fmt::format("the label '{}' has the extents {} and {}", x.labels[second],
                                   shape[first].to_string(), shape[second].to_string()));
    }
    const ValueId equal =
        b.compare(CompareKind::kEq, b.iota(DType::kI64, shape, static_cast<int>(first)),
                  b.iota(DType::kI64, shape, static_cast<int>(second)));
    const ValueId kept = b.select(equal, x.value, b.scalar(b.dtype(x.value), 0));
    x.value = b.reduce(ReduceKind::kSum, kept, {static_cast<int>(second)}, false);
    x.labels.erase(second, 1);
    --second;
  }
  return x;
}

Labelled sum_out(PrimitiveBuilder& b, Labelled x, const std::string& needed) {
  std::vector<int> axes;
  std::string kept;
  for (size_t i = 0; i < x.labels.size(); ++i) {
    if (has(needed, x.labels[i])) {
      kept += x.labels[i];
    } else {
      axes.push_back(static_cast<int>(i));
    }
  }
  return {b.reduce(ReduceKind::kSum, x.value, axes, false), kept};
}

// Axes in the order of `labels`, which is a permutation of its own.
ValueId ordered(PrimitiveBuilder& b, const Labelled& x, const std::string& labels) {
  std::vector<int> perm;
  for (const char label : labels) perm.push_back(static_cast<int>(x.labels.find(label)));
  return b.transpose(x.value, perm);
}

// Repeats axes of extent 1 whose label is longer in the other operand.
Labelled widened_axes(PrimitiveBuilder& b, Labelled x, const Labelled& other) {
  Shape shape = b.shape(x.value);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!has(other.labels, x.labels[i])) continue;
    const Dim theirs = extent_of(b, other, x.labels[i]);
    if (shape[i] == theirs || theirs == Dim(1)) continue;
    if (!(shape[i] == Dim(1))) {
      throw ModelError(fmt::format("the label '{}' has the extents {} and {}", x.labels[i],
                                   shape[i].to_string(), theirs.to_string()));
    }
    shape[i] = theirs;
  }
  x.value = b.broadcast(x.value, shape);
  return x;
}

ValueId aligned(PrimitiveBuilder& b, const Labelled& x, const std::string& labels,
                const Shape& shape) {
  std::string own;
  std::vector<int> axes;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (!has(x.labels, labels[i])) continue;
    own += labels[i];
    axes.push_back(static_cast<int>(i));
  }
  return b.broadcast_axes(ordered(b, x, own), shape, axes);
}

Labelled combine(PrimitiveBuilder& b, Labelled x, Labelled y, const std::string& needed) {
  x = sum_out(b, x, needed + y.labels);
  y = sum_out(b, y, needed + x.labels);
  const Labelled narrow = x;
  x = widened_axes(b, x, y);
  y = widened_axes(b, y, narrow);
  std::string batch, free_x, free_y, contracted;
  for (const char label : x.labels) {
    if (!has(y.labels, label)) {
      free_x += label;
    } else {
      (has(needed, label) ? batch : contracted) += label;
    }
  }
  for (const char label : y.labels) {
    if (!has(x.labels, label)) free_y += label;
  }
  const auto extents = [&](const Labelled& from, const std::string& labels) {
    Shape shape;
    for (const char label : labels) shape.push_back(extent_of(b, from, label));
    return shape;
  };
  const Shape batch_shape = extents(x, batch);
  const Shape shape_x = extents(x, free_x);
  const Shape shape_y = extents(y, free_y);
  Labelled result{{}, batch + free_x + free_y};
  Shape shape = batch_shape;
  shape.insert(shape.end(), shape_x.begin(), shape_x.end());
  shape.insert(shape.end(), shape_y.begin(), shape_y.end());
  if (contracted.empty()) {
    result.value = b.mul(aligned(b, x, result.labels, shape), aligned(b, y, result.labels, shape));
    return result;
  }
  const Dim k = element_count(extents(x, contracted));
  const Dim m = element_count(shape_x);
  const Dim n = element_count(shape_y);
  Shape left = batch_shape, right = batch_shape;
  left.insert(left.end(), {m, k});
  right.insert(right.end(), {k, n});
  const ValueId product = b.matmul(b.reshape(ordered(b, x, batch + free_x + contracted), left),
                                   b.reshape(ordered(b, y, batch + contracted + free_y), right));
  result.value = b.reshape(product, shape);
  return result;
}

}  // namespace

ValueId einsum(PrimitiveBuilder& b, const EinsumEquation& equation, std::vector<ValueId> operands) {
  std::vector<Labelled> terms;
  for (size_t i = 0; i < operands.size(); ++i) {
    terms.push_back(take_diagonals(b, {operands[i], equation.operands[i]}));
  }
  Labelled result = terms.front();
  for (size_t i = 1; i < terms.size(); ++i) {
    std::string needed = equation.result;
    for (size_t k = i + 1; k < terms.size(); ++k) needed += terms[k].labels;
    result = combine(b, result, terms[i], needed);
  }
  result = sum_out(b, result, equation.result);
  return ordered(b, result, equation.result);
}

namespace {

void lower_einsum(NodeContext& n) {
  PrimitiveBuilder& b = n.builder();
  const std::vector<ValueId> operands = n.inputs();
  std::vector<size_t> ranks;
  for (const ValueId operand : operands) ranks.push_back(b.rank(operand));
  n.output(0, einsum(b, parse_einsum(n.text("equation", ""), ranks), operands));
}

constexpr OperatorRow kRows[] = {
    {"Einsum", 12, lower_einsum},
};

}  // namespace

std::span<const OperatorRow> einsum_operators() { return kRows; }

}  // namespace stitch
