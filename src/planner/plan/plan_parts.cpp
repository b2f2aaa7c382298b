#include "planner/plan/plan_parts.h"
#include "graph/strided_copy.h"

#include <fmt/format.h>

#include <algorithm>

namespace stitch {
namespace {

size_t least_operands(AccessKind kind) {
  switch (kind) {
    case AccessKind::kIndex:
    case AccessKind::kElementwise:
      return 0;
    case AccessKind::kReduce:
    case AccessKind::kArgReduce:
    case AccessKind::kScan:
    case AccessKind::kSort:
    case AccessKind::kAssembly:
      return 1;
    case AccessKind::kContraction:
    case AccessKind::kScatter:
      return 2;
  }
  return 0;
}

bool needs_expression(AccessKind kind) {
  return kind == AccessKind::kIndex || kind == AccessKind::kArgReduce;
}

}  // namespace

std::string value_problem(const AccessGraph& graph, const AccessValue& value) {
  const size_t rank = value.extents.size();
  if (value.strides.size() != rank || value.dims.size() != rank) {
    return fmt::format("the value has {} extents, {} strides and {} dims", rank,
                       value.strides.size(), value.dims.size());
  }
  int64_t count = 1;
  for (const int64_t extent : value.extents) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) {
      return "the value has impossible extents";
    }
  }
  if (value.kind != AccessValueKind::kConstant || value.fill != AccessValue::kNoFill) return {};
  const Tensor* const tensor =
      value.graph_value.valid() ? graph.graph->constant(value.graph_value) : nullptr;
  if (tensor == nullptr) return "the model has no such constant";
  if (tensor->dtype() != value.dtype || tensor->element_count() != count) {
    return fmt::format("the constant of the model is {}[{}]", name(tensor->dtype()),
                       tensor->element_count());
  }
  if (count > 0 && !in_storage_order(value.extents, value.strides)) {
    return "the strides of the constant are no order of its elements";
  }
  return {};
}

std::string node_problem(const AccessGraph& graph, AccessNodeId id, const AccessNode& node) {
  if (node.results.empty()) return "the node has no result";
  for (size_t i = 0; i < node.results.size(); ++i) {
    const AccessValue& result = graph.value(node.results[i]);
    if (result.producer != id || result.result != static_cast<int>(i)) {
      return fmt::format("v{} is not result {} of the node", node.results[i].index, i);
    }
  }
  const size_t given = node.operands.size();
  const int expected = facts(node.op).operands;
  if (node.kind == AccessKind::kElementwise && is_elementwise(node.op) && expected >= 0 &&
      given != static_cast<size_t>(expected)) {
    return fmt::format("{} takes {} operands, the node has {}", name(node.op), expected, given);
  }
  if (given < least_operands(node.kind)) return "the node has too few operands";
  if (needs_expression(node.kind) && !node.expression.valid()) return "the node has no expression";
  return {};
}

}  // namespace stitch
