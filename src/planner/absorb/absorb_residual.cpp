#include "planner/absorb/absorb_residual.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "planner/absorb/absorb_copies.h"
#include "planner/absorb/contraction_layout.h"
#include "planner/access/access_prune.h"
#include "planner/access/regions.h"

namespace stitch {
namespace {

class ResidualFolder {
 public:
  ResidualFolder(AccessGraph& graph, const std::function<bool(AccessNodeId)>& is_library)
      : graph_(graph),
        is_library_(is_library),
        readers_(readers_of(graph)),
        is_output_(graph.values.size(), false) {
    for (const AccessOutput& output : graph.outputs) is_output_[output.value.index] = true;
  }

  // The node computes the sum in the product's place, where that is worth while.
  bool fold(AccessNodeId id) {
    const AccessNode add = graph_.node(id);
    if (add.op != Op::k_add || !is_stored_anyway(add)) return false;
    for (size_t i = 0; i < 2; ++i) {
      const Read& residual = add.operands[1 - i];
      std::optional<AccessNode> sum = product_of(add.operands[i], add);
      if (!sum || !is_in_memory(residual, sum->depth)) continue;
      sum->operands.push_back(residual);
      graph_.nodes[id.index] = *std::move(sum);
      const auto layout = matmul_layout(graph_, id);
      const auto* const found = std::get_if<MatmulLayout>(&layout);
      if (found != nullptr && found->c.value.valid()) return true;
      graph_.nodes[id.index] = add;
    }
    return false;
  }

 private:
  // Something that no kernel of the addition's depth computes reads the sum.
  bool is_stored_anyway(const AccessNode& add) const {
    const AccessValueId sum = add.results[0];
    if (is_output_[sum.index]) return true;
    return std::any_of(readers_[sum.index].begin(), readers_[sum.index].end(),
                       [&](AccessNodeId reader) {
                         const AccessNode& node = graph_.node(reader);
                         return node.kind == AccessKind::kContraction || node.depth > add.depth;
                       });
  }

  // What is read is there when a product of this depth starts, and would be without this reader.
  bool is_in_memory(const Read& read, int depth) const {
    if (read.pieces.size() != 1) return false;
    const AccessValueId source = read.pieces[0].source;
    const AccessNodeId producer = graph_.value(source).producer;
    if (!producer.valid()) return true;
    const AccessNode& node = graph_.node(producer);
    if (node.kind == AccessKind::kContraction) return node.depth < depth;
    return node.depth <= depth && (is_output_[source.index] || readers_[source.index].size() > 1);
  }

  // The contraction that makes `read`, as its reader would compute it, with the row that an
  // addition between them adds.
  std::optional<AccessNode> product_of(const Read& read, const AccessNode& reader) {
    const AccessNodeId producer = only_for_reader(read);
    if (!producer.valid()) return std::nullopt;
    std::optional<AccessNode> made;
    if (is_product(producer)) {
      made = graph_.node(producer);
    } else if (graph_.node(producer).op == Op::k_add) {
      made = with_row(graph_.node(producer));
    }
    if (made) made = computed_by_reader(graph_, *made, read.pieces[0], reader);
    if (made)
      made->sources.insert(made->sources.end(), reader.sources.begin(), reader.sources.end());
    return made;
  }

  // The product that `add` adds a row to, with that row.
  std::optional<AccessNode> with_row(const AccessNode& add) {
    for (size_t i = 0; i < 2; ++i) {
      const Read& row = add.operands[1 - i];
      const AccessNodeId product = only_for_reader(add.operands[i]);
      if (!product.valid() || !is_product(product)) continue;
      if (row.pieces.size() != 1 || graph_.value(row.pieces[0].source).producer.valid()) continue;
      auto made = computed_by_reader(graph_, graph_.node(product), add.operands[i].pieces[0], add);
      if (!made) continue;
      made->operands.push_back(row);
      made->sources.insert(made->sources.end(), add.sources.begin(), add.sources.end());
      return made;
    }
    return std::nullopt;
  }

  bool is_product(AccessNodeId id) const {
    return graph_.node(id).kind == AccessKind::kContraction && is_library_(id);
  }

  // Who computes what is read; none where somebody else reads it too.
  AccessNodeId only_for_reader(const Read& read) const {
    if (read.pieces.size() != 1) return {};
    const AccessValueId source = read.pieces[0].source;
    const bool alone = readers_[source.index].size() == 1 && !is_output_[source.index];
    return alone ? graph_.value(source).producer : AccessNodeId();
  }

  AccessGraph& graph_;
  const std::function<bool(AccessNodeId)>& is_library_;
  const std::vector<std::vector<AccessNodeId>> readers_;
  std::vector<bool> is_output_;
};

}  // namespace

void fold_residual_adds(AccessGraph& graph, const std::function<bool(AccessNodeId)>& is_library) {
  set_depths(graph);
  ResidualFolder folder(graph, is_library);
  bool changed = false;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    changed = folder.fold(AccessNodeId(n)) || changed;
  }
  if (changed) remove_unread_nodes(graph);
}

}  // namespace stitch
