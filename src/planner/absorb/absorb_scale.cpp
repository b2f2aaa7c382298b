#include "planner/absorb/absorb_scale.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "planner/absorb/absorb_copies.h"
#include "planner/absorb/contraction_layout.h"
#include "planner/access/access_prune.h"
#include "planner/access/access_substitute.h"

namespace stitch {
namespace {

struct Scaled {
  Piece piece;  // what is multiplied, over the atoms of the product
  double factor = 1;
};

std::optional<double> scalar_of(const AccessGraph& graph, const Read& read) {
  if (read.pieces.size() != 1) return std::nullopt;
  const Tensor* const constant = graph.constant(read.pieces[0].source);
  if (constant == nullptr || constant->element_count() != 1) return std::nullopt;
  return constant->real(0);
}

std::optional<Scaled> scaled_value(const AccessGraph& graph, const AccessNode& node) {
  if (node.kind != AccessKind::kElementwise || node.op != Op::k_mul) return std::nullopt;
  if (!is_float(graph.value(node.results[0]).dtype)) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const Read& other = node.operands[1 - i];
    const auto factor = scalar_of(graph, node.operands[i]);
    if (factor && other.pieces.size() == 1) return Scaled{other.pieces[0], *factor};
  }
  return std::nullopt;
}

using Readers = std::vector<std::vector<AccessNodeId>>;

// The contractions that read a value, if those are all of its readers and read it as an operand.
std::optional<std::vector<AccessNodeId>> products_only(const AccessGraph& graph,
                                                       const Readers& readers,
                                                       AccessValueId value) {
  for (const AccessOutput& output : graph.outputs) {
    if (output.value == value) return std::nullopt;
  }
  const std::vector<AccessNodeId>& products = readers[value.index];
  const bool all = std::all_of(products.begin(), products.end(), [&](AccessNodeId node) {
    return graph.node(node).kind == AccessKind::kContraction;
  });
  return all ? std::optional(products) : std::nullopt;
}

// `node` with every read of `value` led to what was scaled; none where the read is no single piece.
std::optional<AccessNode> without_scale(AccessGraph& graph, AccessNode node, AccessValueId value,
                                        const Scaled& scaled) {
  for (Read& read : node.operands) {
    if (read.pieces.size() != 1) return std::nullopt;
    const Piece from = read.pieces[0];
    if (from.source != value) continue;
    IndexPool::AtomMap atoms;
    const std::vector<std::vector<AtomId>> dims = graph.value(value).dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      std::vector<int64_t> extents;
      for (const AtomId atom : dims[d]) extents.push_back(graph.pool.atom(atom).extent);
      const std::vector<ExprId> parts = graph.pool.delinearise(from.index[d], extents);
      for (size_t i = 0; i < parts.size(); ++i) atoms.emplace(dims[d][i], parts[i]);
    }
    read = AccessSubstitution(graph, std::move(atoms)).read(Read{{scaled.piece}});
    node.scale *= scaled.factor;
  }
  return node;
}

}  // namespace

void fold_operand_scales(AccessGraph& graph, const std::function<bool(AccessNodeId)>& is_library) {
  // What a fold leaves behind still reads what it read: of other values the readers stay.
  const Readers readers = readers_of(graph);
  bool changed = false;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const auto scaled = scaled_value(graph, graph.nodes[n]);
    if (!scaled) continue;
    const AccessValueId value = graph.nodes[n].results[0];
    const auto products = products_only(graph, readers, value);
    if (!products || products->empty() ||
        !std::all_of(products->begin(), products->end(), is_library)) {
      continue;
    }
    std::vector<AccessNode> before;
    for (const AccessNodeId product : *products) before.push_back(graph.node(product));
    bool all = true;
    for (const AccessNodeId product : *products) {
      auto direct = without_scale(graph, graph.node(product), value, *scaled);
      all = all && direct.has_value();
      if (!all) break;
      graph.nodes[product.index] = std::move(*direct);
      all = is_library(product);
      if (!all) break;
    }
    changed = changed || all;
    if (all) continue;
    for (size_t i = 0; i < before.size(); ++i) {
      graph.nodes[(*products)[i].index] = std::move(before[i]);
    }
  }
  if (changed) remove_unread_nodes(graph);
}

}  // namespace stitch
