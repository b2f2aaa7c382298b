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
      tracer_(nodes, is_placed),
      needs_(nodes, [this, is_placed](AccessValueId value, bool own) {
        return is_placed(value, own) || (own && need_value(value));
      }) {}

std::vector<KeptValue> KeptRows::find() {
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].columns != columns_) continue;
    group_ = g;
    for (const StageRoot& root : groups_[g].roots) {
      const Trace trace = root.kind == RootKind::kStore ? needs_.trace_value(root.value)
                                                        : needs_.trace_operands(root.node);
      for (const TracedRead& load : trace.loads) need_load(load);
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

// Whether a value at its own atoms is there from an earlier group; keeps it for this one.
bool KeptRows::need_value(AccessValueId value) {
  const auto first = first_group_.find(nodes_.producer(value));
  if (first == first_group_.end() || !is_worth_keeping(value)) return false;
  for (KeptValue& kept : kept_) {
    if (kept.value != value) continue;
    kept.last_group = group_;
    return true;
  }
  kept_.push_back({value, AccessNodeId(), 0, first->second, group_});
  return true;
}

void KeptRows::need_load(const TracedRead& read) {
  if (!read.aligned || read.operand == TracedRead::kNested || !read.reader.valid()) return;
  const Load* const load = find_load(nodes_.graph().node(read.reader).operands[read.operand]);
  if (load == nullptr) return;
  for (KeptValue& kept : kept_) {
    if (kept.reader != load->reader || kept.operand != load->operand || kept.value.valid())
      continue;
    kept.last_group = group_;
    return;
  }
  kept_.push_back({AccessValueId(), load->reader, load->operand, load->first_group, group_});
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
