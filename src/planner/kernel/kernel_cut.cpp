#include "planner/kernel/kernel_cut.h"

#include <algorithm>
#include <set>

namespace stitch {
namespace {

class Cutter {
 public:
  Cutter(const KernelNodes& nodes, const KernelStructure& structure, const KernelRequest& request)
      : nodes_(nodes), structure_(structure), request_(request) {}

  KernelCut by_levels() const {
    KernelCut result;
    result.reason = structure_.reason;
    int levels = 0;
    for (const Cluster& cluster : structure_.clusters) levels = std::max(levels, cluster.level + 1);
    std::set<AccessValueId> available;
    for (int level = 0; level < levels; ++level) {
      const std::vector<AccessValueId> stored = stored_by(level, available);
      if (stored.empty()) continue;
      result.pieces.push_back(piece(stored, available));
      available.insert(stored.begin(), stored.end());
    }
    return result;
  }

  KernelCut by_clusters() const {
    KernelCut result;
    result.reason = "its parts are independent";
    for (const Cluster& cluster : structure_.clusters) {
      std::vector<AccessValueId> stored;
      for (const size_t root : cluster.roots) {
        if (structure_.roots[root].kind == RootKind::kStore) {
          stored.push_back(nodes_.original_of(structure_.roots[root].value));
        }
      }
      result.pieces.push_back(piece(stored, {}));
      result.pieces.back().block = request_.block;
    }
    return result;
  }

 private:
  // Originals of what the roots of a level leave in memory.
  std::vector<AccessValueId> stored_by(int level, const std::set<AccessValueId>& available) const {
    std::vector<AccessValueId> stored;
    const auto add = [&](AccessValueId clone) {
      const AccessValueId original = nodes_.original_of(clone);
      if (available.count(original) != 0) return;
      if (std::find(stored.begin(), stored.end(), original) == stored.end()) {
        stored.push_back(original);
      }
    };
    for (const StructureRoot& root : structure_.roots) {
      if (structure_.clusters[root.cluster].level != level) continue;
      if (root.kind == RootKind::kStore || is_read_later(root.value, level)) add(root.value);
    }
    return stored;
  }

  bool is_read_later(AccessValueId reduce, int level) const {
    for (const StructureRoot& root : structure_.roots) {
      if (structure_.clusters[root.cluster].level <= level) continue;
      for (const TracedRead& read : root.trace.placed) {
        if (read.value == reduce) return true;
      }
    }
    return false;
  }

  // The nodes that lead to `stored` from what is in memory.
  KernelRequest piece(const std::vector<AccessValueId>& stored,
                      const std::set<AccessValueId>& available) const {
    const AccessGraph& graph = nodes_.graph();
    std::set<AccessNodeId> needed;
    std::vector<AccessValueId> open = stored;
    while (!open.empty()) {
      const AccessValueId value = open.back();
      open.pop_back();
      const AccessNodeId producer = graph.value(value).producer;
      if (!producer.valid() || !is_requested(producer) || !needed.insert(producer).second) continue;
      for (const AccessValueId source : sources_of(graph, graph.node(producer))) {
        if (available.count(source) == 0) open.push_back(source);
      }
    }
    KernelRequest piece = request_;
    piece.nodes.assign(needed.begin(), needed.end());
    piece.stored = stored;
    piece.block = 0;
    return piece;
  }

  bool is_requested(AccessNodeId node) const {
    return std::binary_search(request_.nodes.begin(), request_.nodes.end(), node);
  }

  const KernelNodes& nodes_;
  const KernelStructure& structure_;
  const KernelRequest& request_;
};

}  // namespace

KernelCut cut_by_levels(const KernelNodes& nodes, const KernelStructure& structure,
                        const KernelRequest& request) {
  return Cutter(nodes, structure, request).by_levels();
}

KernelCut cut_by_clusters(const KernelNodes& nodes, const KernelStructure& structure,
                          const KernelRequest& request) {
  return Cutter(nodes, structure, request).by_clusters();
}

}  // namespace stitch
