#include <algorithm>
#include <unordered_map>

#include "graph/graph_equality.h"
#include "graph/graph_rewriter.h"
#include "graph/hash.h"
#include "graph/passes.h"

namespace stitch {
namespace {

bool commutes(const Node& node) {
  if (node.op == Op::k_compare) {
    return attributes_as<CompareAttributes>(node.attributes).kind == CompareKind::kEq;
  }
  return node.op == Op::k_add || node.op == Op::k_mul || node.op == Op::k_min ||
         node.op == Op::k_max || node.op == Op::k_bitwise;
}

std::vector<ValueId> canonical_operands(const Node& node, std::vector<ValueId> operands) {
  if (commutes(node)) std::sort(operands.begin(), operands.end());
  return operands;
}

uint64_t hash_of(const Node& node, const std::vector<ValueId>& operands) {
  uint64_t hash = hash_combine(stitch::hash_of(node.attributes), static_cast<uint64_t>(node.op));
  for (const ValueId operand : operands) hash = hash_combine(hash, operand.index);
  return hash;
}

}  // namespace

Graph merge_common(const Graph& graph) {
  GraphRewriter rewriter(graph);
  std::unordered_multimap<uint64_t, NodeId> seen;  // new nodes; looked up, never iterated in order
  for (size_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(NodeId(i));
    const std::vector<ValueId> operands = canonical_operands(node, rewriter.map(node.operands));
    const uint64_t hash = hash_of(node, operands);
    const auto is_same = [&](NodeId id) {
      const Node& other = rewriter.to().node(id);
      return other.op == node.op && canonical_operands(other, other.operands) == operands &&
             rewriter.to().type(other.results[0]) == graph.type(node.results[0]) &&
             equal(other.attributes, node.attributes);
    };
    const auto [begin, end] = seen.equal_range(hash);
    const auto found = std::find_if(begin, end, [&](const auto& at) { return is_same(at.second); });
    if (found == end) {
      seen.emplace(hash, rewriter.copy(NodeId(i)));
      continue;
    }
    rewriter.to().add_node_sources(found->second, node.sources);
    for (size_t r = 0; r < node.results.size(); ++r) {
      rewriter.replace(node.results[r], rewriter.to().node(found->second).results[r]);
    }
  }
  return rewriter.finish();
}

}  // namespace stitch
