#include "planner/kernel/row_sweep.h"

#include <algorithm>
#include <set>

#include "planner/stage/stage_geometry.h"

namespace stitch {
namespace {

// Shorter stretches would write about as much as they read.
constexpr int64_t kShortestStretch = 8;

bool can_be_swept(const AccessGraph& graph, const AccessNode& node) {
  if (node.kind != AccessKind::kReduce || !node.guards.empty()) return false;
  const auto* const attributes = std::get_if<ReduceAttributes>(&node.attributes);
  return attributes != nullptr && attributes->kind == ReduceKind::kSum &&
         is_float(graph.value(node.results.front()).dtype);
}

class Sweeper {
 public:
  Sweeper(KernelNodes& nodes, const KernelStructure& structure, const DeviceModel& device)
      : nodes_(nodes), structure_(structure), device_(device) {}

  std::optional<RowSweep> run() {
    for (const Cluster& cluster : structure_.clusters) {
      if (!is_sweepable(cluster)) continue;
      const std::vector<AccessNodeId> swept = reduces_over_rows(cluster);
      if (!swept.empty()) return sweep(cluster.rows.front(), swept);
    }
    return std::nullopt;
  }

 private:
  // Rows that are one index, and lanes that run along the columns.
  bool is_sweepable(const Cluster& cluster) const {
    return cluster.level == 0 && cluster.has_reduce && cluster.rows.size() == 1 &&
           nodes_.pool().atom(cluster.rows.front()).extent >= 2 * kShortestStretch &&
           !find_geometry(nodes_, structure_, cluster).lanes_along_rows;
  }

  std::vector<AccessNodeId> reduces_over_rows(const Cluster& cluster) const {
    std::set<AccessValueId> loaded;
    std::vector<AtomId> columns;
    for (const size_t i : cluster.roots) {
      const StructureRoot& root = structure_.roots[i];
      for (const TracedRead& load : root.trace.loads) loaded.insert(load.value);
      for (const AtomId atom : root.space) {
        if (!contains(cluster.rows, atom) && !contains(columns, atom)) columns.push_back(atom);
      }
    }
    std::vector<AccessNodeId> found;
    for (const StructureRoot& root : structure_.roots) {
      if (root.kind != RootKind::kReduce) continue;
      const AccessNode& node = nodes_.graph().node(root.node);
      if (node.reduced != cluster.rows || !can_be_swept(nodes_.graph(), node)) continue;
      if (!contains_all(columns, node.axes) || !contains_all(node.axes, columns)) continue;
      if (reads_only(root, cluster) && shares_loads(root, loaded)) found.push_back(root.node);
    }
    return found;
  }

  // What the root reads of other roots, the block has: results of its own rows.
  bool reads_only(const StructureRoot& root, const Cluster& cluster) const {
    return std::all_of(
        root.trace.placed.begin(), root.trace.placed.end(), [&](const TracedRead& read) {
          return is_own_index(nodes_, read.value, read.index) &&
                 std::any_of(cluster.roots.begin(), cluster.roots.end(),
                             [&](size_t i) { return structure_.roots[i].value == read.value; });
        });
  }

  bool shares_loads(const StructureRoot& root, const std::set<AccessValueId>& loaded) const {
    return std::any_of(root.trace.loads.begin(), root.trace.loads.end(),
                       [&](const TracedRead& load) { return loaded.count(load.value) != 0; });
  }

  RowSweep sweep(AtomId row, const std::vector<AccessNodeId>& reduces) {
    RowSweep result;
    const int64_t rows = nodes_.pool().atom(row).extent;
    const KernelNodes::Halves halves = nodes_.split(row, stretch_length(rows));
    result.stretch = halves.outer;
    if (halves.ragged) result.guards.push_back({halves.whole, 0, rows});
    for (const AccessNodeId reduce : reduces) {
      const AccessValueId part = nodes_.split_reduce(reduce, {halves.outer}, result.guards);
      nodes_.mark_swept(nodes_.producer(part), {halves.outer, halves.inner});
    }
    return result;
  }

  // One block per multiprocessor: every further one writes a row of partial sums. Even stretches
  // where a divisor is near.
  int64_t stretch_length(int64_t rows) const {
    const int64_t blocks = std::min<int64_t>(device_.sm_count, rows / kShortestStretch);
    for (int64_t parts = blocks; parts > blocks * 3 / 4; --parts) {
      if (rows % parts == 0) return rows / parts;
    }
    return (rows + blocks - 1) / blocks;
  }

  KernelNodes& nodes_;
  const KernelStructure& structure_;
  const DeviceModel& device_;
};

}  // namespace

std::optional<RowSweep> sweep_rows(KernelNodes& nodes, const KernelStructure& structure,
                                   const DeviceModel& device) {
  return Sweeper(nodes, structure, device).run();
}

}  // namespace stitch
