// The nodes of one kernel: clones whose values have one dim per axis atom, so that atoms can be
// merged, split and replaced without touching another kernel.
#pragma once
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "planner/access/access_graph.h"

namespace stitch {

class KernelNodes {
 public:
  // Clones `originals` (topological) into `graph`. Reads among them are led to the clones; other
  // reads stay as they are and end at buffers.
  KernelNodes(AccessGraph& graph, std::span<const AccessNodeId> originals);

  AccessGraph& graph() const { return *graph_; }
  IndexPool& pool() const { return graph_->pool; }
  const std::vector<AccessNodeId>& nodes() const { return nodes_; }
  // None for values that the kernel only reads.
  AccessValueId clone_of(AccessValueId original) const;
  AccessValueId original_of(AccessValueId clone) const;
  // The node that computes a value inside of the kernel; none for others.
  AccessNodeId producer(AccessValueId value) const;
  // Place of a node in the order of nodes().
  size_t position(AccessNodeId node) const;
  // Atoms of a clone, one per dim.
  const std::vector<AtomId>& atoms(AccessValueId clone) const;
  // Where an element of a clone lies in the original's dims.
  const std::vector<ExprId>& index_in_original(AccessValueId clone) const;

  // Two atoms that stand next to each other everywhere become one.
  AtomId merge(AtomId outer, AtomId inner);
  // An atom takes the place of another of the same extent, where no node has both.
  void rename(AtomId atom, AtomId to);
  struct Halves {
    AtomId outer, inner;
    bool ragged = false;  // the extent is no multiple: points with outer*n + inner >= extent
    ExprId whole;         // outer * inner extent + inner
  };
  // The atom becomes (outer, inner); inner has `inner_extent`.
  Halves split(AtomId atom, int64_t inner_extent);
  // Makes two nodes of a reduce: one per assignment of `parts` (atoms that it reduces), then the
  // reduce of those over `parts`. Points where a guard fails do not exist. Returns the result per
  // part.
  AccessValueId split_reduce(AccessNodeId node, const std::vector<AtomId>& parts,
                             const std::vector<Guard>& guards);
  // Adds a node with one result, one dim per axis, before another node. Returns the result.
  AccessValueId add_node(AccessNode node, DType dtype, AccessNodeId before);
  // Gives a node loop indices of its own: it will be computed inside of loops over the same atoms.
  void rename_reduced(AccessNodeId node);
  // A reduce so short that every thread which needs it computes it by itself.
  void mark_inline(AccessNodeId reduce) { inline_.insert(reduce); }
  bool is_marked_inline(AccessNodeId reduce) const { return inline_.count(reduce) != 0; }
  // An element-wise value that every block computes once and leaves in shared memory.
  void mark_shared(AccessValueId clone) { shared_.insert(clone); }
  bool is_marked_shared(AccessValueId clone) const { return shared_.count(clone) != 0; }
  // A reduce over rows that its block sweeps: it belongs to the blocks that own `rows`.
  void mark_swept(AccessNodeId reduce, std::vector<AtomId> rows) {
    swept_.emplace(reduce, std::move(rows));
  }
  // Those rows; null for other nodes.
  const std::vector<AtomId>* swept_rows(AccessNodeId reduce) const {
    const auto found = swept_.find(reduce);
    return found == swept_.end() ? nullptr : &found->second;
  }
  // A node that only copies operand `operand` of `reader`, which then reads the copy, as does every
  // other node whose operand is the same read.
  AccessValueId insert_copy(AccessNodeId reader, size_t operand);

 private:
  void clone(AccessNodeId original);
  void lead_to_clone(Piece& piece) const;
  void lead_to_copy(const Read& read, AccessNodeId copy);
  // Replaces atoms in every expression and list; `change_index` rebuilds the index of a piece whose
  // source is a clone, from the source's atoms before the change.
  template <class ChangeAtoms, class ChangeIndex>
  void rewrite(const IndexPool::AtomMap& map, ChangeAtoms change_atoms, ChangeIndex change_index);

  AccessGraph* graph_;
  std::vector<AccessNodeId> nodes_;
  std::unordered_map<AccessValueId, AccessValueId> clones_;
  std::unordered_map<AccessValueId, AccessValueId> originals_;
  std::unordered_map<AccessValueId, AccessNodeId> producers_;
  std::unordered_map<AccessValueId, std::vector<AtomId>> atoms_;
  std::unordered_map<AccessValueId, std::vector<ExprId>> original_index_;
  std::unordered_set<AccessNodeId> inline_;
  std::unordered_set<AccessValueId> shared_;
  std::unordered_map<AccessNodeId, std::vector<AtomId>> swept_;
};

}  // namespace stitch
