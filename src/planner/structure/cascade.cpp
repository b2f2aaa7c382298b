#include "planner/structure/cascade.h"

#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "planner/access/address.h"
#include "planner/structure/kernel_structure.h"

namespace stitch {
namespace {

// A mean is its sum times a number that is 1 / n to within the rounding of its type.
constexpr double kCountRounding = 1e-6;

std::optional<ReduceKind> reduce_kind(const AccessNode& node) {
  if (node.kind != AccessKind::kReduce || node.operands.size() != 1) return std::nullopt;
  const auto* attributes = std::get_if<ReduceAttributes>(&node.attributes);
  if (attributes == nullptr) return std::nullopt;
  return attributes->kind;
}

bool runs_in_f32(const AccessGraph& graph, const AccessNode& node) {
  return compute_type(graph.value(node.results.front()).dtype) == DType::kF32;
}

class CascadeFinder {
 public:
  CascadeFinder(AccessGraph& graph, const AccessNode& leader)
      : graph_(graph), leader_(leader), result_(leader.results.front()) {}

  // f(x, m') = f(x, m) * exp(m - m') for the value read.
  bool scales(const Read& read) {
    const AccessNode* node = inline_producer(read);
    if (node == nullptr) return false;
    const std::vector<Read>& operands = node->operands;
    switch (node->op) {
      case Op::k_exp:
        return is_shifted(operands[0]);
      case Op::k_neg:
        return scales(operands[0]);
      case Op::k_cast:
        return to_float(*node) && scales(operands[0]);
      case Op::k_mul:
        return (scales(operands[0]) && is_independent(operands[1])) ||
               (is_independent(operands[0]) && scales(operands[1]));
      case Op::k_div:
        return scales(operands[0]) && is_independent(operands[1]);
      case Op::k_add:
      case Op::k_sub:
        return scales(operands[0]) && scales(operands[1]);
      default:
        return false;
    }
  }

  // (x - mean)^2: the value that is the mean.
  std::optional<AccessValueId> center_of_square(const Read& read) {
    const AccessNode* node = inline_producer(read);
    if (node == nullptr) return std::nullopt;
    const bool square =
        (node->op == Op::k_mul && node->operands[0] == node->operands[1]) ||
        (node->op == Op::k_pow && literal(node->operands[1]) == std::optional<double>(2.0));
    if (!square) return std::nullopt;
    const AccessNode* const distance = inline_producer(node->operands[0]);
    if (distance == nullptr || distance->op != Op::k_sub) return std::nullopt;
    if (!(distance->operands[0] == leader_.operands[0])) return std::nullopt;
    const AccessNode* const mean = inline_producer(distance->operands[1]);
    if (mean == nullptr || !is_mean(*mean)) return std::nullopt;
    return distance->operands[1].pieces.front().source;
  }

  // What all exponentials are shifted by: the maximum, or 0 in place of an infinite one.
  AccessValueId shift() const { return shift_; }

 private:
  // What computes the value at the reader's own point; null where it is moved or not element-wise.
  const AccessNode* inline_producer(const Read& read) const {
    if (read.pieces.size() != 1 || !is_aligned(graph_, read.pieces.front())) return nullptr;
    const AccessNodeId producer = graph_.value(read.pieces.front().source).producer;
    if (!producer.valid()) return nullptr;
    const AccessNode& node = graph_.node(producer);
    return node.kind == AccessKind::kElementwise ? &node : nullptr;
  }

  bool to_float(const AccessNode& node) const {
    return is_float(graph_.value(node.results.front()).dtype) &&
           is_float(graph_.value(node.operands[0].pieces.front().source).dtype);
  }

  bool reads_result(const Read& read) const {
    return read.pieces.size() == 1 && read.pieces.front().source == result_ &&
           is_aligned(graph_, read.pieces.front());
  }

  // x - m with the x that m is the maximum of, so that the exponential never overflows.
  bool is_shifted(const Read& read) {
    const AccessNode* node = inline_producer(read);
    if (node == nullptr) return false;
    if (node->op == Op::k_cast) return to_float(*node) && is_shifted(node->operands[0]);
    if (node->op != Op::k_sub || !(node->operands[0] == leader_.operands[0])) return false;
    const Read& maximum = node->operands[1];
    if (!reads_result(maximum) && !is_finite_result(maximum)) return false;
    const AccessValueId source = maximum.pieces.front().source;
    if (!shift_.valid()) shift_ = source;
    return shift_ == source;
  }

  // select(|m| < inf, m, 0)
  bool is_finite_result(const Read& read) const {
    const AccessNode* const choice = inline_producer(read);
    if (choice == nullptr || choice->op != Op::k_select) return false;
    const AccessNode* const finite = inline_producer(choice->operands[0]);
    if (finite == nullptr || finite->op != Op::k_compare) return false;
    const auto* attributes = std::get_if<CompareAttributes>(&finite->attributes);
    const AccessNode* const size = inline_producer(finite->operands[0]);
    return attributes != nullptr && attributes->kind == CompareKind::kLt && size != nullptr &&
           size->op == Op::k_abs && reads_result(size->operands[0]) &&
           literal(finite->operands[1]) ==
               std::optional<double>(std::numeric_limits<double>::infinity()) &&
           reads_result(choice->operands[1]) &&
           literal(choice->operands[2]) == std::optional<double>(0.0);
  }

  bool is_mean(const AccessNode& node) const {
    const double count = static_cast<double>(point_count(graph_.pool, leader_.reduced));
    if (node.op == Op::k_div && reads_result(node.operands[0])) {
      const std::optional<double> divisor = literal(node.operands[1]);
      return is_count(node.operands[1]) || (leader_.guards.empty() && divisor && *divisor == count);
    }
    if (!leader_.guards.empty()) return false;
    if (node.op != Op::k_mul) return false;
    for (const size_t sum : {0, 1}) {
      if (!reads_result(node.operands[sum])) continue;
      const std::optional<double> factor = literal(node.operands[1 - sum]);
      if (factor && std::abs(*factor * count - 1) < kCountRounding) return true;
    }
    return false;
  }

  bool is_count(const Read& read) const {
    if (read.pieces.size() != 1 || !is_aligned(graph_, read.pieces.front())) return false;
    const AccessNodeId producer = graph_.value(read.pieces.front().source).producer;
    if (!producer.valid() || graph_.node(producer).kind != AccessKind::kIndex) return false;
    return graph_.node(producer).expression == existing_points(graph_, leader_);
  }

  std::optional<double> literal(const Read& read) const {
    if (read.pieces.size() != 1) return std::nullopt;
    const Tensor* const tensor = graph_.constant(read.pieces.front().source);
    if (tensor == nullptr || tensor->element_count() != 1) return std::nullopt;
    return tensor->real(0);
  }

  bool is_independent(const Read& read) {
    for (const Piece& piece : read.pieces) {
      if (depends(piece.source)) return false;
    }
    return true;
  }

  bool depends(AccessValueId value) {
    if (value == result_) return true;
    const auto known = depends_.find(value);
    if (known != depends_.end()) return known->second;
    bool found = false;
    const AccessNodeId producer = graph_.value(value).producer;
    if (producer.valid()) {
      for (const AccessValueId source : sources_of(graph_, graph_.node(producer))) {
        found = found || depends(source);
      }
    }
    depends_.emplace(value, found);
    return found;
  }

  AccessGraph& graph_;
  const AccessNode& leader_;
  const AccessValueId result_;
  AccessValueId shift_;
  std::map<AccessValueId, bool> depends_;
};

}  // namespace

Cascade find_cascade(AccessGraph& graph, AccessNodeId follower, AccessNodeId leader) {
  const AccessNode& sum = graph.node(follower);
  const AccessNode& first = graph.node(leader);
  const std::optional<ReduceKind> kind = reduce_kind(first);
  if (reduce_kind(sum) != ReduceKind::kSum || !kind) return {};
  if (sum.reduced != first.reduced || sum.axes != first.axes) return {};
  if (!(sum.guards == first.guards)) return {};
  if (!runs_in_f32(graph, sum) || !runs_in_f32(graph, first)) return {};
  CascadeFinder finder(graph, first);
  const AccessValueId result = first.results.front();
  if (*kind == ReduceKind::kMax && finder.scales(sum.operands[0])) {
    return {CascadeRule::kShiftedExp, result, finder.shift()};
  }
  if (*kind == ReduceKind::kSum && existing_points(graph, first).valid()) {
    const std::optional<AccessValueId> center = finder.center_of_square(sum.operands[0]);
    if (center) return {CascadeRule::kSquaredDistance, result, *center};
  }
  return {};
}

ExprId existing_points(AccessGraph& graph, const AccessNode& reduce) {
  IndexPool& pool = graph.pool;
  const int64_t points = point_count(pool, reduce.reduced);
  if (reduce.guards.empty()) return pool.constant(points);
  // part * n + i < extent with i < n: min(extent - part * n, n) of the i exist.
  const Guard guard = reduce.guards.front();
  if (reduce.guards.size() > 1 || guard.low != 0) return {};
  AtomId inside;
  for (const AtomId atom : pool.atoms_of(guard.expr)) {
    if (!contains(reduce.reduced, atom)) continue;
    if (inside.valid()) return {};
    inside = atom;
  }
  if (!inside.valid()) return {};
  const Coefficient step = coefficient(graph, guard.expr, inside);
  if (!step.plain || step.value != 1) return {};
  const int64_t extent = pool.atom(inside).extent;
  const ExprId start = pool.substitute(guard.expr, {{inside, pool.constant(0)}});
  const ExprId left = pool.add(pool.scale(start, -1), guard.high);
  return pool.scale(pool.min(left, extent), points / extent);
}

}  // namespace stitch
