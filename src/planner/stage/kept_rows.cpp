#include "planner/stage/kept_rows.h"

#include <algorithm>
#include <utility>

#include "planner/access/read_rewriter.h"

namespace stitch {

KeptRows::KeptRows(KernelNodes& nodes, const std::vector<StageGroup>& groups,
                   const std::vector<AtomId>& columns, ValueTracer::IsPlaced is_placed)
    : nodes_(nodes),
      groups_(groups),
      columns_(columns),
      is_placed_(std::move(is_placed)),
      tracer_(nodes, is_placed_) {}

std::vector<KeptValue> KeptRows::find() {
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].columns != columns_) continue;
    visited_.clear();
    for (const StageRoot& root : groups_[g].roots) {
      if (root.kind == RootKind::kStore) {
        need_value(root.value, g);
      } else {
        need_operands(root.node, g);
      }
    }
    note_first(g);
  }
  return std::move(kept_);
}

bool KeptRows::is_full(const std::vector<AtomId>& atoms) const {
  return contains_all(atoms, columns_);
}

void KeptRows::note_first(size_t group) {
  for (const StageRoot& root : groups_[group].roots) {
    for (const TracedNode& traced : root.trace.nodes) {
      if (!traced.aligned || !is_full(nodes_.graph().node(traced.node).axes)) continue;
      first_group_.emplace(traced.node, group);
    }
    for (const TracedRead& load : root.trace.loads) {
      if (!load.aligned || load.operand == TracedRead::kNested || !load.reader.valid()) continue;
      const Read& read = nodes_.graph().node(load.reader).operands[load.operand];
      if (find_load(read) != nullptr || !is_full(atoms_of(nodes_.graph(), read))) continue;
      loads_.push_back({load.reader, load.operand, group});
    }
  }
}

const KeptRows::Load* KeptRows::find_load(const Read& read) const {
  for (const Load& load : loads_) {
    if (nodes_.graph().node(load.reader).operands[load.operand] == read) return &load;
  }
  return nullptr;
}

void KeptRows::need_operands(AccessNodeId id, size_t group) {
  if (!visited_.insert(id).second) return;
  const size_t operands = nodes_.graph().node(id).operands.size();
  for (size_t i = 0; i < operands; ++i) {
    const Read read = nodes_.graph().node(id).operands[i];
    bool loads = false;
    for (const Piece& piece : read.pieces) {
      if (!nodes_.producer(piece.source).valid()) {
        loads = true;
      } else if (is_own_index(nodes_, piece.source, piece.index)) {
        need_value(piece.source, group);
      }
    }
    if (loads) need_load(id, i, group);
  }
}

void KeptRows::need_value(AccessValueId value, size_t group) {
  const AccessNodeId producer = nodes_.producer(value);
  if (!producer.valid() || is_placed_(value, true)) return;
  const auto first = first_group_.find(producer);
  if (first == first_group_.end() || !is_worth_keeping(value)) {
    need_operands(producer, group);
    return;
  }
  for (KeptValue& kept : kept_) {
    if (kept.value != value) continue;
    kept.last_group = group;
    return;
  }
  kept_.push_back({value, AccessNodeId(), 0, first->second, group});
}

void KeptRows::need_load(AccessNodeId node, size_t operand, size_t group) {
  const Read read = nodes_.graph().node(node).operands[operand];
  const Load* const load = find_load(read);
  if (load == nullptr) return;
  for (KeptValue& kept : kept_) {
    if (kept.reader != load->reader || kept.operand != load->operand || kept.value.valid())
      continue;
    kept.last_group = group;
    return;
  }
  kept_.push_back({AccessValueId(), load->reader, load->operand, load->first_group, group});
}

// Indices and constants are cheaper to compute again than to keep.
bool KeptRows::is_worth_keeping(AccessValueId value) {
  const Trace trace = tracer_.trace_value(value);
  return std::any_of(trace.loads.begin(), trace.loads.end(), [&](const TracedRead& load) {
    for (const ExprId index : load.index) {
      for (const AtomId atom : atoms_of(nodes_.graph(), index)) {
        if (contains(columns_, atom)) return true;
      }
    }
    return false;
  });
}

}  // namespace stitch
