#include "planner/absorb/absorb_bias.h"

#include <utility>
#include <variant>

#include "planner/absorb/absorb_copies.h"
#include "planner/absorb/contraction_layout.h"
#include "planner/access/access_prune.h"

namespace stitch {
namespace {

bool is_early(const AccessGraph& graph, const Read& read) {
  return read.pieces.size() == 1 &&
         graph.value(read.pieces[0].source).kind != AccessValueKind::kNode;
}

// Of AccessValueId: values that nodes read which are no contractions, and no contraction does.
// Their kernel adds the row at no cost, and without the addition its parts might be kernels of
// their own.
std::vector<bool> values_of_loops(const AccessGraph& graph) {
  std::vector<bool> in_loops(graph.values.size()), in_products(graph.values.size());
  for (const AccessNode& node : graph.nodes) {
    std::vector<bool>& readers = node.kind == AccessKind::kContraction ? in_products : in_loops;
    for (const AccessValueId source : sources_of(graph, node)) readers[source.index] = true;
  }
  for (size_t v = 0; v < in_loops.size(); ++v) in_loops[v] = in_loops[v] && !in_products[v];
  return in_loops;
}

// The contraction that makes `read`, when nothing stands between.
AccessNodeId plain_product(const AccessGraph& graph, const Read& read,
                           const std::vector<bool>& once) {
  if (read.pieces.size() != 1 || !is_aligned(graph, read.pieces[0])) return {};
  const AccessValueId source = read.pieces[0].source;
  const AccessNodeId producer = graph.value(source).producer;
  if (!producer.valid() || !once[source.index]) return {};
  const AccessNode& node = graph.node(producer);
  const bool plain = node.kind == AccessKind::kContraction && node.operands.size() == 2;
  return plain ? producer : AccessNodeId();
}

}  // namespace

void fold_bias_adds(AccessGraph& graph, const std::function<bool(AccessNodeId)>& is_library) {
  const std::vector<bool> once = values_read_once(graph);
  const std::vector<bool> in_loops = values_of_loops(graph);
  bool changed = false;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].op != Op::k_add || in_loops[graph.nodes[n].results[0].index]) continue;
    for (size_t i = 0; i < 2; ++i) {
      const AccessNode add = graph.nodes[n];
      const AccessNodeId product = plain_product(graph, add.operands[i], once);
      if (!product.valid() || !is_early(graph, add.operands[1 - i])) continue;
      // All atoms of the sum are those of the product: nothing is repeated.
      if (add.axes.size() != graph.node(product).axes.size() || !is_library(product)) continue;
      AccessNode sum = graph.node(product);
      sum.axes = add.axes;
      sum.results = add.results;
      sum.operands.push_back(add.operands[1 - i]);
      sum.sources.insert(sum.sources.end(), add.sources.begin(), add.sources.end());
      graph.nodes[n] = std::move(sum);
      const auto layout = matmul_layout(graph, AccessNodeId(n));
      if (const auto* found = std::get_if<MatmulLayout>(&layout); found && found->bias.valid()) {
        changed = true;
        break;
      }
      graph.nodes[n] = add;
    }
  }
  if (changed) remove_unread_nodes(graph);
}

}  // namespace stitch
