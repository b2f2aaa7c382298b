#include "planner/stage/stage_groups.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "planner/access/read_rewriter.h"
#include "planner/plan/step_distance.h"
#include "planner/stage/kept_rows.h"
#include "planner/structure/cascade.h"

namespace stitch {
namespace {

bool reads_memory(const Trace& trace) { return !trace.loads.empty() || !trace.placed.empty(); }

}  // namespace

StageGrouper::StageGrouper(KernelNodes& nodes, const KernelStructure& structure,
                           const Cluster& cluster, const StageGeometry& geometry)
    : nodes_(nodes),
      structure_(structure),
      cluster_(cluster),
      geometry_(geometry),
      tracer_(nodes, [this](AccessValueId value, bool own) { return is_stopped(value, own); }) {}

StageGroups StageGrouper::find() {
  for (const size_t i : cluster_.roots) {
    const StructureRoot& root = structure_.roots[i];
    if (root.kind == RootKind::kReduce || root.kind == RootKind::kPlace) {
      available_[root.value] = depth_of(root.trace) + 1;
    }
  }
  place_row_values();
  StageGroups groups;
  for (const AccessValueId value : row_values_) {
    StageRoot root = {RootKind::kPlace, nodes_.producer(value), value, {}, 0};
    root.trace = trace(root);
    root.depth = depth_of(root.trace);
    available_[value] = root.depth;
    add(groups, std::move(root), {});
  }
  for (const size_t i : cluster_.roots) {
    const StructureRoot& from = structure_.roots[i];
    StageRoot root = {from.kind, from.node, from.value, {}, 0};
    root.trace = trace(root);
    root.depth = depth_of(root.trace);
    add(groups, std::move(root), columns_of(from));
  }
  std::stable_sort(groups.groups.begin(), groups.groups.end(),
                   [](const StageGroup& a, const StageGroup& b) {
                     if (a.depth != b.depth) return a.depth < b.depth;
                     return a.columns.empty() && !b.columns.empty();
                   });
  find_kept(groups);
  return groups;
}

std::vector<AtomId> StageGrouper::columns_of(const StructureRoot& root) const {
  std::vector<AtomId> columns;
  for (const AtomId atom : root.space) {
    if (!contains(cluster_.rows, atom)) columns.push_back(atom);
  }
  std::sort(columns.begin(), columns.end());
  if (!geometry_.main.linear.valid()) return columns;
  return by_falling_step(nodes_.graph(), geometry_.main.linear, columns);
}

bool StageGrouper::is_stopped(AccessValueId value, bool own) const {
  if (available_.count(value) != 0) return true;
  const auto kept = kept_.find(value);
  return kept != kept_.end() && (own || kept->second);
}

Trace StageGrouper::trace(const StageRoot& root) {
  return root.kind == RootKind::kStore ? tracer_.trace_value(root.value)
                                       : tracer_.trace_operands(root.node);
}

int StageGrouper::depth_of(const Trace& trace) const {
  int depth = 0;
  for (const TracedRead& read : trace.placed) {
    const auto found = available_.find(read.value);
    if (found == available_.end()) continue;
    const bool of_others =
        exchanged_.count(read.value) != 0 && !is_own_index(nodes_, read.value, read.index);
    depth = std::max(depth, of_others ? meeting_depth(read.value) : found->second);
  }
  return depth;
}

// Blocks meet once for a result and for those that follow it in the block that computes it.
int StageGrouper::meeting_depth(AccessValueId value) const {
  const int depth = available_.at(value);
  for (const size_t i : cluster_.roots) {
    const StructureRoot& root = structure_.roots[i];
    if (exchanged_.count(root.value) == 0 || root.trace.placed.empty()) continue;
    if (std::all_of(root.trace.placed.begin(), root.trace.placed.end(),
                    [&](const TracedRead& read) { return read.value == value; })) {
      return depth + 1;
    }
  }
  return depth;
}

// Row values that computations at every column use are computed once per row.
void StageGrouper::place_row_values() {
  for (const size_t i : cluster_.roots) {
    const StructureRoot& root = structure_.roots[i];
    const std::vector<AtomId> columns = columns_of(root);
    if (columns.empty()) continue;
    std::vector<AccessNodeId> consumers;
    if (root.kind != RootKind::kStore) consumers.push_back(root.node);
    for (const TracedNode& traced : root.trace.nodes) {
      if (traced.aligned) consumers.push_back(traced.node);
    }
    for (const AccessNodeId id : consumers) {
      const AccessNode node = nodes_.graph().node(id);
      const auto is_column = [&](AtomId atom) { return contains(columns, atom); };
      if (id != root.node && std::none_of(node.axes.begin(), node.axes.end(), is_column)) continue;
      for (const Read& operand : node.operands) {
        for (const Piece& piece : operand.pieces) consider_row_value(piece, columns);
      }
    }
  }
  std::sort(row_values_.begin(), row_values_.end());
  for (const AccessValueId value : row_values_) available_[value] = 0;
}

void StageGrouper::consider_row_value(const Piece& piece, const std::vector<AtomId>& columns) {
  if (!nodes_.producer(piece.source).valid() || is_stopped(piece.source, true)) return;
  if (!is_own_index(nodes_, piece.source, piece.index)) return;
  const std::vector<AtomId>& atoms = nodes_.atoms(piece.source);
  if (!contains_all(cluster_.rows, atoms)) return;
  if (std::any_of(atoms.begin(), atoms.end(),
                  [&](AtomId atom) { return contains(columns, atom); })) {
    return;
  }
  if (std::find(row_values_.begin(), row_values_.end(), piece.source) != row_values_.end()) return;
  if (reads_memory(tracer_.trace_value(piece.source))) row_values_.push_back(piece.source);
}

void StageGrouper::add(StageGroups& groups, StageRoot root,
                       const std::vector<AtomId>& columns) const {
  const bool once = root.kind == RootKind::kStore && !shared_axes_.empty() &&
                    !contains_all(nodes_.atoms(root.value), shared_axes_);
  std::vector<AtomId> inner_rows;
  if (root.kind == RootKind::kReduce) {
    for (const AtomId atom : nodes_.atoms(root.value)) {
      if (contains(columns, atom)) inner_rows.push_back(atom);
    }
    std::sort(inner_rows.begin(), inner_rows.end());
  }
  for (StageGroup& group : groups.groups) {
    if (merges_dominants_ && group.depth == root.depth && group.columns == columns &&
        group.inner_rows == inner_rows && group.once == once) {
      group.roots.push_back(std::move(root));
      return;
    }
  }
  StageGroup group;
  group.depth = root.depth;
  group.columns = columns;
  group.once = once;
  group.inner_rows = std::move(inner_rows);
  group.roots.push_back(std::move(root));
  groups.groups.push_back(std::move(group));
}

void StageGrouper::find_kept(StageGroups& groups) {
  groups.kept.clear();
  groups.live_arrays = 0;
  std::vector<std::vector<AtomId>> done;
  for (const StageGroup& group : groups.groups) {
    if (group.columns.empty()) continue;
    if (std::find(done.begin(), done.end(), group.columns) != done.end()) continue;
    done.push_back(group.columns);
    KeptRows rows(nodes_, groups.groups, group.columns,
                  [this](AccessValueId value, bool own) { return is_stopped(value, own); });
    const std::vector<KeptValue> kept = rows.find();
    groups.kept.insert(groups.kept.end(), kept.begin(), kept.end());
  }
  for (size_t border = 0; border + 1 < groups.groups.size(); ++border) {
    int live = 0;
    for (const KeptValue& kept : groups.kept) {
      if (kept.first_group <= border && border < kept.last_group) ++live;
    }
    groups.live_arrays = std::max(groups.live_arrays, live);
  }
}

void StageGrouper::follow(StageGroups& groups) const {
  for (size_t g = 1; g < groups.groups.size(); ++g) {
    std::vector<StageRoot>& roots = groups.groups[g].roots;
    for (size_t i = 0; i < roots.size();) {
      size_t leader_group = 0;
      roots[i].cascade = find_leader(groups, g, roots[i], &leader_group);
      if (roots[i].cascade.rule == CascadeRule::kNone) {
        ++i;
        continue;
      }
      groups.groups[leader_group].roots.push_back(std::move(roots[i]));
      roots.erase(roots.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  std::erase_if(groups.groups, [](const StageGroup& group) { return group.roots.empty(); });
}

Cascade StageGrouper::find_leader(const StageGroups& groups, size_t group, const StageRoot& root,
                                  size_t* leader_group) const {
  const StageGroup& own = groups.groups[group];
  if (root.kind != RootKind::kReduce || own.columns.empty() || !own.inner_rows.empty()) return {};
  for (size_t g = 0; g < group; ++g) {
    const StageGroup& candidate = groups.groups[g];
    if (candidate.columns != own.columns || !candidate.inner_rows.empty()) continue;
    for (const StageRoot& leader : candidate.roots) {
      if (leader.kind != RootKind::kReduce || leader.cascade.rule != CascadeRule::kNone) continue;
      const Cascade cascade = find_cascade(nodes_.graph(), root.node, leader.node);
      const bool taken = cascade.rule == CascadeRule::kSquaredDistance &&
                         std::any_of(candidate.roots.begin(), candidate.roots.end(),
                                     [&](const StageRoot& r) { return r.cascade == cascade; });
      if (cascade.rule == CascadeRule::kNone || taken ||
          !can_follow(root, cascade, candidate.depth)) {
        continue;
      }
      *leader_group = g;
      return cascade;
    }
  }
  return {};
}

// All else that the terms read is there when the leader's group begins.
bool StageGrouper::can_follow(const StageRoot& root, const Cascade& cascade, int depth) const {
  return std::all_of(root.trace.placed.begin(), root.trace.placed.end(),
                     [&](const TracedRead& read) {
                       if (read.value == cascade.center) return true;
                       const auto found = available_.find(read.value);
                       return found != available_.end() && found->second <= depth;
                     });
}

void StageGrouper::keep(StageGroups& groups) {
  for (KeptValue& kept : groups.kept) {
    if (!kept.value.valid()) kept.value = nodes_.insert_copy(kept.reader, kept.operand);
    kept_.emplace(kept.value, true);
  }
  tracer_.forget();
  for (const KeptValue& kept : groups.kept) {
    groups.groups[kept.first_group].roots.push_back({RootKind::kPlace,
                                                     nodes_.producer(kept.value),
                                                     kept.value,
                                                     {},
                                                     groups.groups[kept.first_group].depth});
  }
  // Places before the reduces and stores that use them, among themselves in topological order.
  for (StageGroup& group : groups.groups) {
    std::stable_sort(group.roots.begin(), group.roots.end(),
                     [&](const StageRoot& a, const StageRoot& b) {
                       const bool a_place = a.kind == RootKind::kPlace;
                       const bool b_place = b.kind == RootKind::kPlace;
                       if (a_place != b_place) return a_place;
                       return a_place && nodes_.position(a.node) < nodes_.position(b.node);
                     });
  }
  trace_again(groups);
  find_reads(groups);
}

void StageGrouper::trace_again(StageGroups& groups) {
  for (StageGroup& group : groups.groups) {
    for (StageRoot& root : group.roots) root.trace = trace(root);
  }
}

// Who reads kept values otherwise than the thread that wrote them.
void StageGrouper::find_reads(StageGroups& groups) const {
  for (KeptValue& kept : groups.kept) {
    const std::vector<AtomId>& columns = groups.groups[kept.first_group].columns;
    for (size_t g = kept.first_group + 1; g < groups.groups.size(); ++g) {
      for (const StageRoot& root : groups.groups[g].roots) {
        for (const TracedRead& read : root.trace.placed) {
          if (read.value != kept.value) continue;
          if (groups.groups[g].columns != columns) {
            kept.foreign = true;
            if (kept.first_exchange == 0) kept.first_exchange = g;
          } else if (!is_own_index(nodes_, read.value, read.index)) {
            note_moved(kept, read, columns, g);
          }
        }
      }
    }
  }
}

void StageGrouper::note_moved(KeptValue& kept, const TracedRead& read,
                              std::span<const AtomId> columns, size_t group) const {
  const std::vector<AtomId>& atoms = nodes_.atoms(read.value);
  const std::optional<int64_t> distance = column_distance(
      nodes_.pool(), atoms, own_index(nodes_.graph(), read.value), read.index, columns);
  if (!distance) {
    if (kept.first_exchange == 0) kept.first_exchange = group;
    return;
  }
  kept.distance = std::gcd(kept.distance, *distance);
  if (kept.first_distant == 0) kept.first_distant = group;
}

void StageGrouper::compute_moved_again(StageGroups& groups) {
  for (KeptValue& kept : groups.kept) {
    if (kept.foreign) {
      drop(groups, kept.value);
      kept.value = AccessValueId();
    } else if (kept.first_exchange != 0) {
      kept_[kept.value] = false;
      kept.first_exchange = 0;
    }
  }
  std::erase_if(groups.kept, [](const KeptValue& kept) { return !kept.value.valid(); });
  trace_again(groups);
}

void StageGrouper::drop(StageGroups& groups, AccessValueId value) {
  kept_.erase(value);
  for (StageGroup& group : groups.groups) {
    std::erase_if(group.roots, [&](const StageRoot& root) {
      return root.kind == RootKind::kPlace && root.value == value;
    });
  }
}

}  // namespace stitch
