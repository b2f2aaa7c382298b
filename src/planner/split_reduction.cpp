#include "planner/split_reduction.h"

#include <algorithm>

#include "planner/cost.h"
#include "planner/stage_geometry.h"

namespace stitch {
namespace {

// A block that shares a row should have this many bytes of it at least: below, the ticket and the
// second reduction cost more than the parallelism gains.
constexpr int64_t kLeastBytesPerBlock = 16 << 10;
constexpr int64_t kMostSplits = 1024;
constexpr int kBlock = 256;
constexpr int64_t kLanesAlongRows = 32;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool can_be_split(const AccessNode& node) {
  switch (node.kind) {
    case AccessKind::kReduce:
    case AccessKind::kContraction:
      return node.guards.empty();
    case AccessKind::kArgReduce:
    case AccessKind::kElementwise:
    case AccessKind::kIndex:
    case AccessKind::kScan:
    case AccessKind::kSort:
    case AccessKind::kScatter:
      return false;
  }
  return false;
}

class Splitter {
 public:
  Splitter(KernelNodes& nodes, const KernelStructure& structure, const DeviceModel& device)
      : nodes_(nodes),
        structure_(structure),
        cluster_(structure.clusters.front()),
        device_(device),
        geometry_(find_geometry(nodes, structure, cluster_)) {}

  std::vector<AtomId> run() {
    const int64_t splits = wanted_splits();
    if (splits < 2) return {};
    const std::vector<AtomId> atoms = split_atoms(splits);
    if (atoms.empty()) return {};
    for (const size_t root : cluster_.roots) {
      if (structure_.roots[root].kind == RootKind::kReduce) {
        nodes_.split_reduce(structure_.roots[root].node, atoms, guards_);
      }
    }
    return atoms;
  }

 private:
  // Blocks that should share a row; 1 when the rows suffice or somebody waits for the results.
  int64_t wanted_splits() {
    int64_t columns = 0;
    for (const size_t i : cluster_.roots) {
      const StructureRoot& root = structure_.roots[i];
      const bool per_row = root.space.size() == cluster_.rows.size();
      if (root.kind == RootKind::kStore && !per_row) return 1;
      if (root.kind != RootKind::kReduce) continue;
      if (!root.trace.placed.empty() || !can_be_split(nodes_.graph().node(root.node))) return 1;
      const std::vector<AtomId>& reduced = nodes_.graph().node(root.node).reduced;
      if (!columns_.empty() && columns_ != reduced) return 1;
      columns_ = reduced;
      columns = point_count(nodes_.pool(), reduced);
    }
    if (columns_.empty()) return 1;
    const int64_t rows = point_count(nodes_.pool(), cluster_.rows);
    const int64_t bytes = rows * columns * geometry_.largest_element;
    const int64_t blocks = geometry_.lanes_along_rows ? ceil_div(rows, kLanesAlongRows) : rows;
    StageWork whole;
    whole.blocks = blocks;
    whole.threads = geometry_.lanes_along_rows ? kBlock : 1024;
    whole.bytes = static_cast<double>(bytes);
    StageWork shared = whole;
    const int64_t most =
        std::min(kMostSplits, bytes / kLeastBytesPerBlock / std::max<int64_t>(blocks, 1));
    const int64_t splits = std::min(most, ceil_div(4 * device_.sm_count, blocks));
    if (splits < 2) return 1;
    shared.blocks = blocks * splits;
    shared.threads = kBlock;
    const double gain = whole.bytes / 1e3 *
                        (1 / reachable_gbps(device_, whole) - 1 / reachable_gbps(device_, shared));
    return gain > device_.ticket_us ? splits : 1;
  }

  // Whole outer atoms first, then a part of the next one.
  std::vector<AtomId> split_atoms(int64_t splits) {
    std::vector<AtomId> order = by_falling_step(nodes_.graph(), geometry_.main.linear, columns_);
    std::vector<AtomId> atoms;
    for (const AtomId atom : order) {
      const int64_t extent = nodes_.pool().atom(atom).extent;
      if (splits < 2) break;
      if (extent <= splits && atom != order.back()) {
        atoms.push_back(atom);
        splits = ceil_div(splits, extent);
        continue;
      }
      // Parts of whole vectors: their starts stay aligned.
      const int64_t inner = ceil_div(ceil_div(extent, splits), kPartMultiple) * kPartMultiple;
      if (inner >= extent) break;
      const KernelNodes::Halves halves = nodes_.split(atom, inner);
      if (halves.ragged) guards_.push_back({halves.whole, 0, extent});
      atoms.push_back(halves.outer);
      break;
    }
    return atoms;
  }

  static constexpr int64_t kPartMultiple = 32;
  KernelNodes& nodes_;
  const KernelStructure& structure_;
  const Cluster& cluster_;
  const DeviceModel& device_;
  const StageGeometry geometry_;
  std::vector<AtomId> columns_;
  std::vector<Guard> guards_;
};

}  // namespace

std::vector<AtomId> split_reductions(KernelNodes& nodes, const KernelStructure& structure,
                                     const DeviceModel& device) {
  return Splitter(nodes, structure, device).run();
}

}  // namespace stitch
