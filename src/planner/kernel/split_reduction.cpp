#include "planner/kernel/split_reduction.h"

#include <algorithm>
#include <map>

#include "planner/cost/cost.h"
#include "planner/kernel/split_cascade.h"
#include "planner/stage/mapping_choice.h"
#include "planner/stage/stage_geometry.h"
#include "planner/structure/cascade.h"

namespace stitch {
namespace {

// A block that shares a row should have this many bytes of it at least: below, the ticket and the
// second reduction cost more than the parallelism gains.
constexpr int64_t kLeastBytesPerBlock = 16 << 10;
constexpr int64_t kMostSplits = 1024;
// So few parts are read by every thread that needs their sum, with no second exchange: where one
// block goes on, and where all blocks of a row do, each with a thousand threads.
constexpr int64_t kMostPartsPerThread = 16;
constexpr int64_t kMostPartsWhereAllJoin = 4;
constexpr int kBlock = 256;
constexpr int kLargeBlock = 1024;
constexpr int64_t kLanesAlongRows = 32;
// Parts of whole vectors and warps: their starts stay aligned.
constexpr int64_t kPartMultiple = 32;

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
    case AccessKind::kAssembly:
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
        geometry_(find_geometry(nodes, structure, cluster_)) {
    find_cascades();
  }

  RowExchange run() {
    RowExchange exchange;
    if (!find_columns() || somebody_waits()) return exchange;
    exchange.parts = split_atoms(splits_for_ticket());
    if (exchange.parts.empty()) return exchange;
    exchange.guards = guards_;
    for (const AccessNodeId reduce : reduces()) {
      exchange.exchanged.push_back(split(reduce, exchange.parts));
      join_in_every_thread(reduce, exchange.parts, kMostPartsPerThread);
    }
    return exchange;
  }

  RowExchange run_waiting(int64_t parts) {
    RowExchange exchange;
    if (!find_columns() || geometry_.lanes_along_rows || !stores_are_known()) return exchange;
    exchange.parts = split_atoms(parts > 0 ? parts : splits_for_barrier());
    if (exchange.parts.empty()) return exchange;
    exchange.guards = guards_;
    for (const AccessNodeId reduce : reduces()) {
      exchange.exchanged.push_back(split(reduce, exchange.parts));
      // Every block of the row joins all parts: a loop over them, not over what the block owns.
      nodes_.rename_reduced(reduce);
      // Those of a cluster lie in shared memory.
      join_in_every_thread(reduce, exchange.parts,
                           parts > 0 ? kMostPartsPerThread : kMostPartsWhereAllJoin);
    }
    return exchange;
  }

 private:
  // Sums that wait for no more than the reduce that they can follow.
  void find_cascades() {
    std::vector<AccessNodeId> leaders;
    for (const size_t i : cluster_.roots) {
      const StructureRoot& root = structure_.roots[i];
      if (root.kind != RootKind::kReduce) continue;
      for (const AccessNodeId leader : leaders) {
        const Cascade cascade = find_cascade(nodes_.graph(), root.node, leader);
        const bool waits_for_more =
            std::any_of(root.trace.placed.begin(), root.trace.placed.end(),
                        [&](const TracedRead& read) { return read.value != cascade.leader; });
        if (cascade.rule == CascadeRule::kNone || waits_for_more) continue;
        cascades_.emplace(root.node, cascade);
        break;
      }
      if (cascades_.count(root.node) == 0) leaders.push_back(root.node);
    }
  }

  // Returns the results per part.
  AccessValueId split(AccessNodeId reduce, const std::vector<AtomId>& parts) {
    const AccessValueId whole = nodes_.graph().node(reduce).results.front();
    const auto cascade = cascades_.find(reduce);
    const AccessValueId part =
        cascade == cascades_.end()
            ? nodes_.split_reduce(reduce, parts, guards_)
            : split_follower(nodes_, {reduce, cascade->second, parts_.at(cascade->second.leader),
                                      parts, guards_});
    parts_.emplace(whole, part);
    return part;
  }

  void join_in_every_thread(AccessNodeId whole, const std::vector<AtomId>& parts, int64_t most) {
    if (point_count(nodes_.pool(), parts) <= most) nodes_.mark_inline(whole);
  }

  std::vector<AccessNodeId> reduces() const {
    std::vector<AccessNodeId> found;
    for (const size_t i : cluster_.roots) {
      if (structure_.roots[i].kind == RootKind::kReduce) found.push_back(structure_.roots[i].node);
    }
    return found;
  }

  // All reduces run over the same columns.
  bool find_columns() {
    for (const AccessNodeId reduce : reduces()) {
      const AccessNode& node = nodes_.graph().node(reduce);
      if (!can_be_split(node)) return false;
      if (!columns_.empty() && columns_ != node.reduced) return false;
      columns_ = node.reduced;
    }
    return !columns_.empty();
  }

  // A reduce that cannot follow, or a value at every column, needs a result.
  bool somebody_waits() const {
    for (const size_t i : cluster_.roots) {
      const StructureRoot& root = structure_.roots[i];
      if (root.kind == RootKind::kStore && root.space.size() != cluster_.rows.size()) return true;
      if (root.kind == RootKind::kReduce && !root.trace.placed.empty() &&
          cascades_.count(root.node) == 0) {
        return true;
      }
    }
    return false;
  }

  // Of every column, by the block that has it, or of the row, by the first of its blocks.
  bool stores_are_known() const {
    for (const size_t i : cluster_.roots) {
      const StructureRoot& root = structure_.roots[i];
      if (root.kind != RootKind::kStore || contains_all(root.space, columns_)) continue;
      if (std::any_of(columns_.begin(), columns_.end(),
                      [&](AtomId atom) { return contains(root.space, atom); })) {
        return false;
      }
    }
    return true;
  }

  int64_t rows() const { return point_count(nodes_.pool(), cluster_.rows); }
  int64_t row_bytes() const {
    return point_count(nodes_.pool(), columns_) * geometry_.largest_element;
  }

  double microseconds(int64_t blocks, int threads) const {
    StageWork work;
    work.blocks = blocks;
    work.threads = threads;
    const double bytes = static_cast<double>(rows() * row_bytes());
    return bytes / 1e3 / reachable_gbps(device_, work);
  }

  int64_t splits_for_ticket() const {
    const int64_t blocks = geometry_.lanes_along_rows ? ceil_div(rows(), kLanesAlongRows) : rows();
    const int64_t most = std::min(
        kMostSplits, rows() * row_bytes() / kLeastBytesPerBlock / std::max<int64_t>(blocks, 1));
    const int64_t splits =
        std::min(most, ceil_div(4 * device_.sm_count, std::max<int64_t>(blocks, 1)));
    if (splits < 2) return 1;
    const int threads = geometry_.lanes_along_rows ? kBlock : kLargeBlock;
    const double gain = microseconds(blocks, threads) - microseconds(blocks * splits, kBlock);
    return gain > device_.ticket_us ? splits : 1;
  }

  // One large block per multiprocessor: barriers cost per block. Whether they are worth it is for
  // the estimates of both kernels to say.
  int64_t splits_for_barrier() const {
    return std::min(device_.sm_count / std::max<int64_t>(rows(), 1),
                    row_bytes() / kLeastBytesPerBlock);
  }

  // Whole outer atoms first, then a part of the next one.
  std::vector<AtomId> split_atoms(int64_t splits) {
    std::vector<AtomId> atoms;
    if (splits < 2) return atoms;
    const std::vector<AtomId> order =
        by_falling_step(nodes_.graph(), geometry_.main.linear, columns_);
    for (const AtomId atom : order) {
      const int64_t extent = nodes_.pool().atom(atom).extent;
      if (splits < 2) break;
      if (extent <= splits && atom != order.back()) {
        atoms.push_back(atom);
        splits = splits / extent;
        continue;
      }
      const int64_t inner = part_extent(extent, splits, atom == order.back());
      if (inner >= extent) break;
      const KernelNodes::Halves halves = nodes_.split(atom, inner);
      if (halves.ragged) guards_.push_back({halves.whole, 0, extent});
      atoms.push_back(halves.outer);
      break;
    }
    return atoms;
  }

  // Even parts if a divisor is near, else parts of which the last one is shorter. Parts of the
  // innermost index are whole vectors.
  static int64_t part_extent(int64_t extent, int64_t splits, bool innermost) {
    for (int64_t parts = splits; parts > splits / 2 && parts > 1; --parts) {
      if (extent % parts == 0 && (!innermost || extent / parts % 4 == 0)) return extent / parts;
    }
    const int64_t part = ceil_div(extent, splits);
    return innermost ? ceil_div(part, kPartMultiple) * kPartMultiple : part;
  }

  KernelNodes& nodes_;
  const KernelStructure& structure_;
  const Cluster& cluster_;
  const DeviceModel& device_;
  const StageGeometry geometry_;
  std::vector<AtomId> columns_;
  std::vector<Guard> guards_;
  std::map<AccessNodeId, Cascade> cascades_;      // by the node that follows
  std::map<AccessValueId, AccessValueId> parts_;  // of the results of reduces
};

}  // namespace

RowExchange split_reductions(KernelNodes& nodes, const KernelStructure& structure,
                             const DeviceModel& device) {
  return Splitter(nodes, structure, device).run();
}

RowExchange split_waiting_reductions(KernelNodes& nodes, const KernelStructure& structure,
                                     const DeviceModel& device) {
  return Splitter(nodes, structure, device).run_waiting(0);
}

RowExchange split_into_parts(KernelNodes& nodes, const KernelStructure& structure,
                             const DeviceModel& device, int64_t parts) {
  return Splitter(nodes, structure, device).run_waiting(parts);
}

}  // namespace stitch
