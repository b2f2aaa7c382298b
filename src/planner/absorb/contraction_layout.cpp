#include "planner/absorb/contraction_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>

namespace stitch {
namespace {

// A loop of the product and how far each matrix moves with it, in elements; 0: it does not.
struct Loop {
  int64_t count = 1;
  int64_t a = 0, b = 0, c = 0, d = 0, bias = 0;
};

// An address as constant + sum(step * atom), or why it is none.
struct LinearRead {
  AccessValueId value;
  int64_t offset = 0;
  std::unordered_map<AtomId, int64_t> steps;
  std::string problem;
  int64_t step(AtomId atom) const {
    const auto found = steps.find(atom);
    return found == steps.end() ? 0 : found->second;
  }
};

LinearRead linear_read(const AccessGraph& graph, const Read& read) {
  LinearRead result;
  if (read.pieces.size() != 1 || !read.pieces[0].guards.empty()) {
    result.problem = "is put together from several pieces";
    return result;
  }
  const Piece& piece = read.pieces[0];
  result.value = piece.source;
  const AccessValue& source = graph.value(piece.source);
  for (size_t d = 0; d < piece.index.size(); ++d) {
    const Expr& index = graph.pool.expr(piece.index[d]);
    result.offset += index.constant * source.strides[d];
    for (const Term& term : index.terms) {
      if (term.kind == FactorKind::kRead) result.problem = "is gathered";
      if (term.kind != FactorKind::kAtom && result.problem.empty()) {
        result.problem = "is reshaped across its dims";
      }
      result.steps[term.atom] += term.coefficient * source.strides[d];
    }
  }
  return result;
}

LinearRead linear_result(const AccessGraph& graph, AccessValueId value) {
  LinearRead result;
  result.value = value;
  const AccessValue& found = graph.value(value);
  for (size_t d = 0; d < found.dims.size(); ++d) {
    int64_t step = found.strides[d];
    for (size_t i = found.dims[d].size(); i-- > 0;) {
      result.steps[found.dims[d][i]] = step;
      step *= graph.pool.atom(found.dims[d][i]).extent;
    }
  }
  return result;
}

// Joins loops that run through all matrices as one: the outer steps over the whole inner.
std::vector<Loop> collapsed(std::vector<Loop> loops, int64_t Loop::*order) {
  std::sort(loops.begin(), loops.end(), [&](const Loop& x, const Loop& y) {
    return std::tuple(x.*order, x.a, x.b, x.d) > std::tuple(y.*order, y.a, y.b, y.d);
  });
  std::vector<Loop> result;
  for (const Loop& inner : loops) {
    Loop* const outer = result.empty() ? nullptr : &result.back();
    const bool joins = outer != nullptr && outer->a == inner.a * inner.count &&
                       outer->b == inner.b * inner.count && outer->c == inner.c * inner.count &&
                       outer->d == inner.d * inner.count && outer->bias == inner.bias * inner.count;
    if (joins) {
      const int64_t count = outer->count;
      *outer = inner;
      outer->count *= count;
    } else {
      result.push_back(inner);
    }
  }
  return result;
}

struct Order {
  bool column_major = false;
  int64_t leading_dimension = 1;
};

// How a matrix with these steps from row to row and from column to column lies in memory.
std::optional<Order> order_of(int64_t rows, int64_t row_step, int64_t columns,
                              int64_t column_step) {
  if (columns == 1 || column_step == 1) {
    const int64_t leading = rows == 1 ? columns : row_step;
    if (leading >= columns) return Order{false, leading};
  }
  if (rows == 1 || row_step == 1) {
    const int64_t leading = columns == 1 ? rows : column_step;
    if (leading >= rows) return Order{true, leading};
  }
  return std::nullopt;
}

bool is_library_type(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 ||
         dtype == DType::kF64;
}

class LayoutFinder {
 public:
  LayoutFinder(const AccessGraph& graph, AccessNodeId contraction)
      : graph_(graph), node_(graph.node(contraction)) {
    layout_.node = contraction;
  }

  std::variant<MatmulLayout, NoMatmulLayout> find() {
    if (node_.op != Op::k_matmul)
      return NoMatmulLayout{"a convolution has a kernel of its own", -1};
    layout_.scale = node_.scale;
    layout_.accumulate = std::get<MatmulAttributes>(node_.attributes).accumulate;
    d_ = linear_result(graph_, node_.results[0]);
    for (int i = 0; i < static_cast<int>(node_.operands.size()); ++i) {
      LinearRead operand = linear_read(graph_, node_.operands[static_cast<size_t>(i)]);
      if (!operand.problem.empty()) {
        return NoMatmulLayout{fmt::format("operand {} {}", i, operand.problem), i};
      }
      LinearRead& known = i == 0 ? a_ : i == 1 ? b_ : is_row(operand) ? bias_ : c_;
      if (known.value.valid()) return NoMatmulLayout{"two operands of a kind are added", i};
      known = std::move(operand);
    }
    const DType dtype = graph_.value(a_.value).dtype;
    if (!is_library_type(dtype) || graph_.value(b_.value).dtype != dtype ||
        graph_.value(d_.value).dtype != dtype) {
      return NoMatmulLayout{fmt::format("the library has no product of {} and {} to {}",
                                        long_name(dtype), long_name(graph_.value(b_.value).dtype),
                                        long_name(graph_.value(d_.value).dtype)),
                            -1};
    }
    if (c_.value.valid() && graph_.value(c_.value).dtype != dtype) {
      return NoMatmulLayout{"what is added has another type", 2};
    }
    return sort_loops();
  }

 private:
  // What is added is the same for all rows of the result.
  bool is_row(const LinearRead& added) const {
    return std::all_of(node_.axes.begin(), node_.axes.end(), [&](AtomId atom) {
      return added.step(atom) == 0 || a_.step(atom) == 0 || graph_.pool.atom(atom).extent == 1;
    });
  }

  Loop loop_of(AtomId atom) const {
    return {graph_.pool.atom(atom).extent,
            a_.step(atom),
            b_.step(atom),
            c_.step(atom),
            d_.step(atom),
            bias_.step(atom)};
  }

  std::variant<MatmulLayout, NoMatmulLayout> sort_loops() {
    std::vector<Loop> m, n, batch, k;
    for (const AtomId atom : node_.axes) {
      const Loop loop = loop_of(atom);
      if (loop.count == 0) return NoMatmulLayout{"the result has no elements", -1};
      if ((loop.a == 0) == (loop.b == 0)) {
        batch.push_back(loop);
      } else {
        (loop.b == 0 ? m : n).push_back(loop);
      }
    }
    for (const AtomId atom : node_.reduced) {
      const Loop loop = loop_of(atom);
      if (loop.count == 0) return NoMatmulLayout{"the sum has no terms", -1};
      if (loop.a == 0 || loop.b == 0) {
        return NoMatmulLayout{"an operand is the same for all terms of the sum", -1};
      }
      k.push_back(loop);
    }
    k = collapsed(std::move(k), &Loop::a);
    if (k.size() > 1) {
      const Loop &outer = k[0], &inner = k[1];
      const int blame = outer.a == inner.a * inner.count ? 1 : 0;
      return NoMatmulLayout{
          fmt::format("the terms of the sum are not evenly spaced in operand {}", blame), blame};
    }
    m = collapsed(std::move(m), &Loop::d);
    n = collapsed(std::move(n), &Loop::d);
    if (m.empty()) m.push_back({});
    if (n.empty()) n.push_back({});
    return choose_matrix(m, n, batch, k.empty() ? Loop{} : k[0]);
  }

  // Of the loops over m and n, one each spans the matrices; what is left over joins the batch.
  std::variant<MatmulLayout, NoMatmulLayout> choose_matrix(const std::vector<Loop>& m,
                                                           const std::vector<Loop>& n,
                                                           const std::vector<Loop>& batch,
                                                           const Loop& k) {
    NoMatmulLayout failure{"the result is not stored by rows or columns", -1};
    std::optional<MatmulLayout> best;
    for (size_t i = 0; i < m.size(); ++i) {
      for (size_t j = 0; j < n.size(); ++j) {
        const auto a = order_of(m[i].count, m[i].a, k.count, k.a);
        const auto b = order_of(k.count, k.b, n[j].count, n[j].b);
        const auto d = order_of(m[i].count, m[i].d, n[j].count, n[j].d);
        if (!a) failure = {"operand 0 is contiguous in neither rows nor columns", 0};
        if (!b) failure = {"operand 1 is contiguous in neither rows nor columns", 1};
        if (!a || !b || !d) continue;
        if (bias_.value.valid() && (d->column_major || n[j].bias != 1 || m[i].bias != 0)) {
          failure = {"what is added is no row of the result", 2};
          continue;
        }
        const auto c = order_of(m[i].count, m[i].c, n[j].count, n[j].c);
        if (c_.value.valid() && (!c || c->column_major != d->column_major)) {
          failure = {"what is added is not stored as the result is", 2};
          continue;
        }
        std::vector<Loop> outer = batch;
        for (size_t x = 0; x < m.size(); ++x) {
          if (x != i) outer.push_back(m[x]);
        }
        for (size_t x = 0; x < n.size(); ++x) {
          if (x != j) outer.push_back(n[x]);
        }
        if (std::any_of(outer.begin(), outer.end(), [](const Loop& l) { return l.bias != 0; })) {
          failure = {"what is added differs between the products of the batch", 2};
          continue;
        }
        if (c_.value.valid() && std::any_of(outer.begin(), outer.end(), [](const Loop& l) {
              return l.count > 1 && l.c == 0;
            })) {
          failure = {"what is added is the same for several products of the batch", 2};
          continue;
        }
        MatmulLayout candidate = layout_;
        candidate.m = m[i].count;
        candidate.n = n[j].count;
        candidate.k = k.count;
        candidate.a = {a_.value, a_.offset, a->column_major, a->leading_dimension};
        candidate.b = {b_.value, b_.offset, b->column_major, b->leading_dimension};
        candidate.d = {d_.value, d_.offset, d->column_major, d->leading_dimension};
        if (c_.value.valid()) {
          candidate.c = {c_.value, c_.offset, c->column_major, c->leading_dimension};
        }
        candidate.bias = bias_.value;
        candidate.bias_offset = bias_.offset;
        candidate.batch = batch_dims(collapsed(std::move(outer), &Loop::d));
        if (!best || candidate.calls() < best->calls()) best = std::move(candidate);
      }
    }
    if (best) return *best;
    return failure;
  }

  // The longest batch dim last: it is one call.
  static std::vector<MatmulBatch> batch_dims(const std::vector<Loop>& loops) {
    std::vector<MatmulBatch> dims;
    for (const Loop& loop : loops) {
      if (loop.count > 1) dims.push_back({loop.count, loop.a, loop.b, loop.c, loop.d});
    }
    const auto longest = std::max_element(
        dims.begin(), dims.end(),
        [](const MatmulBatch& x, const MatmulBatch& y) { return x.count < y.count; });
    if (longest != dims.end()) std::rotate(longest, longest + 1, dims.end());
    return dims;
  }

  const AccessGraph& graph_;
  const AccessNode& node_;
  LinearRead a_, b_, c_, d_, bias_;
  MatmulLayout layout_;
};

}  // namespace

std::variant<MatmulLayout, NoMatmulLayout> matmul_layout(const AccessGraph& graph,
                                                         AccessNodeId contraction) {
  return LayoutFinder(graph, contraction).find();
}

}  // namespace stitch
