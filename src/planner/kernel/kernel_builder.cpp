#include "planner/kernel/kernel_builder.h"

#include <algorithm>
#include <set>
#include <utility>

#include "planner/cost/cost.h"
#include "planner/kernel/cluster_split.h"
#include "planner/kernel/shared_kernel.h"
#include "planner/structure/align_atoms.h"
#include "planner/structure/coalesce.h"
#include "planner/structure/kernel_structure.h"
#include "planner/structure/late_division.h"

namespace stitch {
namespace {

// What one block does in about the time of a launch.
constexpr int64_t kMostPointsOfLastBlock = 16 << 10;

using Built = std::variant<BuiltKernel, KernelCut>;

class Building {
 public:
  Building(Plan& plan, PlanBuffers& buffers, const DeviceModel& device,
           const KernelRequest& request)
      : plan_(plan),
        buffers_(buffers),
        device_(device),
        request_(request),
        nodes_(plan.graph, request.nodes) {
    for (const AccessValueId value : request.stored) stored_.push_back(nodes_.clone_of(value));
  }

  Built run() {
    prepare();
    if (structure_.clusters.size() == 1) return one_level();
    // A cut names values of the graph: it cannot pass on what only this kernel has.
    if (nodes_.nodes().size() > request_.nodes.size()) {
      return Building(plan_, buffers_, device_, request_).undivided();
    }
    return levels();
  }

 private:
  Built undivided() {
    divides_late_ = false;
    prepare();
    return structure_.clusters.size() == 1 ? one_level() : levels();
  }

  Built levels() {
    if (request_.may_sweep) {
      if (const std::optional<RowSweep> sweep = sweep_rows(nodes_, structure_, device_)) {
        return sweep_or_cut(*sweep);
      }
    }
    if (structure_.reason.empty()) return cut_by_clusters(nodes_, structure_, request_);
    if (one_block_can_finish()) return assembly().with_ticket(structure_, {});
    return levels_or_cut();
  }

  void prepare() {
    if (divides_late_) divide_late(nodes_);
    for (const AccessNodeId id : nodes_.nodes()) {
      const AccessNode& node = plan_.graph.node(id);
      if (is_reduce(node) && is_inline_reduce(plan_.graph, node)) nodes_.rename_reduced(id);
    }
    align_atoms(nodes_, stored_);
    coalesce_atoms(nodes_, stored_);
    structure_ = find_structure(nodes_, stored_);
  }

  KernelAssembly assembly() {
    return KernelAssembly(plan_, buffers_, device_, nodes_, stored_, request_.block,
                          request_.techniques);
  }

  // Few long rows: the blocks of a row as a cluster, or one large block, where that is predicted to
  // be fastest.
  Built one_level() {
    std::optional<BuiltKernel> best;
    if (request_.block == 0 && request_.techniques.has(Technique::kAdaptiveMapping)) {
      std::vector<int64_t> sizes = cluster_sizes(nodes_, structure_, device_);
      if (!sizes.empty()) sizes.push_back(1);
      for (const int64_t size : sizes) {
        if (size > 1 && !request_.may_cluster) continue;
        std::optional<BuiltKernel> built =
            Building(plan_, buffers_, device_, request_).with_blocks_per_row(size);
        if (built && (!best || is_faster(*built, *best))) best = std::move(built);
      }
    }
    Built plain = without_clusters();
    const BuiltKernel* const other = std::get_if<BuiltKernel>(&plain);
    if (!best || (other != nullptr && !is_faster(*best, *other))) return plain;
    return *std::move(best);
  }

  bool is_faster(const BuiltKernel& a, const BuiltKernel& b) const {
    return predicted_us(a.kernel, device_) < predicted_us(b.kernel, device_);
  }

  // A cluster of so many blocks for each row; 1: one large block.
  std::optional<BuiltKernel> with_blocks_per_row(int64_t size) {
    prepare();
    if (structure_.clusters.size() != 1) return std::nullopt;
    if (size == 1) return assembly().one_stage_of_large_blocks(structure_);
    const RowExchange exchange = split_into_parts(nodes_, structure_, device_, size);
    const int64_t blocks = point_count(nodes_.pool(), exchange.parts);
    if (exchange.parts.empty() || blocks < 2 || blocks > device_.cluster_blocks) {
      return std::nullopt;
    }
    std::vector<AtomId> rows = structure_.clusters.front().rows;
    rows.insert(rows.end(), exchange.parts.begin(), exchange.parts.end());
    structure_ = one_cluster(nodes_, stored_, rows);
    return assembly().with_clusters(structure_, exchange);
  }

  Built without_clusters() {
    const bool splits = request_.techniques.has(Technique::kAdaptiveMapping);
    if (splits) {
      const RowExchange exchange = split_reductions(nodes_, structure_, device_);
      if (!exchange.parts.empty()) {
        structure_ = find_structure(nodes_, stored_);
        return assembly().with_ticket(structure_, exchange);
      }
    }
    if (const std::optional<Turn> turn = find_turn(nodes_, structure_)) {
      if (request_.block == 0 || request_.block == kTurnBlock) return assembly().turn(*turn);
    }
    if (splits && request_.may_wait && structure_.clusters.front().has_reduce) {
      const RowExchange exchange = split_waiting_reductions(nodes_, structure_, device_);
      if (!exchange.parts.empty()) return share_rows(exchange);
    }
    return assembly().one_stage(structure_);
  }

  // Blocks share rows and wait for each other, where that is predicted to be faster than a block
  // per row: the twin, which waits for nothing.
  Built share_rows(const RowExchange& exchange) {
    std::vector<AtomId> rows = structure_.clusters.front().rows;
    rows.insert(rows.end(), exchange.parts.begin(), exchange.parts.end());
    structure_ = one_cluster(nodes_, stored_, rows);
    BuiltKernel shared = assembly().with_row_barriers(structure_, exchange);
    std::vector<Kernel> apart = kernels_apart(without_waits());
    if (predicted_us(shared.kernel, device_) >= total_us(apart)) {
      return Building(plan_, buffers_, device_, without_waits()).run();
    }
    shared.kernel.twin = std::move(apart);
    return shared;
  }

  // The swept kernel where it is possible and not predicted to be slower than without.
  Built sweep_or_cut(const RowSweep& sweep) {
    structure_ = find_structure(nodes_, stored_);
    KernelRequest plain = request_;
    plain.may_sweep = false;
    const bool two_levels = structure_.clusters.size() == 2 && structure_.clusters[0].level == 0 &&
                            structure_.clusters[1].level == 1;
    const bool small = two_levels && one_block_can_finish();
    std::optional<BuiltKernel> swept;
    if (small || (two_levels && request_.may_wait)) {
      swept = assembly().sweep(structure_, sweep,
                               small ? Separation::kTicket : Separation::kGridBarrier);
    }
    if (swept) {
      std::vector<Kernel> apart = kernels_apart(without_waits());
      if (predicted_us(swept->kernel, device_) <= total_us(apart)) {
        if (swept->kernel.cooperative) swept->kernel.twin = std::move(apart);
        return *std::move(swept);
      }
    }
    return Building(plan_, buffers_, device_, plain).run();
  }

  // All levels in one kernel where that is asked for, or possible and predicted to be faster.
  Built levels_or_cut() {
    KernelCut cut = cut_by_levels(nodes_, structure_, request_);
    if (request_.grid == GridBarriers::kNever || !request_.may_wait || !levels_are_single()) {
      return cut;
    }
    std::optional<BuiltKernel> met = assembly().with_grid_barriers(structure_);
    if (!met) return cut;
    std::vector<Kernel> apart = kernels_apart(without_waits());
    if (request_.grid == GridBarriers::kWhereFaster &&
        predicted_us(met->kernel, device_) > total_us(apart)) {
      return cut;
    }
    met->kernel.twin = std::move(apart);
    return *std::move(met);
  }

  bool levels_are_single() const {
    std::set<int> levels;
    return std::all_of(structure_.clusters.begin(), structure_.clusters.end(),
                       [&](const Cluster& cluster) { return levels.insert(cluster.level).second; });
  }

  // The same work by kernels whose blocks wait for nothing.
  KernelRequest without_waits() const {
    KernelRequest request = request_;
    request.forbid_waits();
    return request;
  }

  // The kernels of a request in launch order, however often it is cut.
  std::vector<Kernel> kernels_apart(const KernelRequest& request) {
    Built built = Building(plan_, buffers_, device_, request).run();
    std::vector<Kernel> kernels;
    if (BuiltKernel* const done = std::get_if<BuiltKernel>(&built)) {
      kernels.push_back(std::move(done->kernel));
      return kernels;
    }
    for (const KernelRequest& piece : std::get<KernelCut>(built).pieces) {
      for (Kernel& kernel : kernels_apart(piece)) kernels.push_back(std::move(kernel));
    }
    return kernels;
  }

  double total_us(const std::vector<Kernel>& kernels) const {
    double sum = 0;
    for (const Kernel& kernel : kernels) sum += predicted_us(kernel, device_);
    return sum;
  }

  // Two levels, of which the second is so small that the block which arrives last does it alone.
  bool one_block_can_finish() const {
    if (structure_.clusters.size() != 2 || structure_.clusters[1].level != 1) return false;
    int64_t points = 0;
    for (const size_t i : structure_.clusters[1].roots) {
      points += point_count(nodes_.pool(), structure_.roots[i].space);
      for (const TracedRead& load : structure_.roots[i].trace.loads) {
        points += point_count(nodes_.pool(), load_atoms(load));
      }
    }
    return points <= kMostPointsOfLastBlock;
  }

  std::vector<AtomId> load_atoms(const TracedRead& load) const {
    std::set<AtomId> atoms;
    for (const ExprId index : load.index) {
      const std::vector<AtomId> own = nodes_.pool().atoms_of(index);
      atoms.insert(own.begin(), own.end());
    }
    return {atoms.begin(), atoms.end()};
  }

  Plan& plan_;
  PlanBuffers& buffers_;
  const DeviceModel& device_;
  const KernelRequest& request_;
  KernelNodes nodes_;
  std::vector<AccessValueId> stored_;
  KernelStructure structure_;
  bool divides_late_ = true;  // late_division.h
};

}  // namespace

KernelBuilder::Mark KernelBuilder::mark() const {
  return {plan_.graph.nodes.size(), plan_.graph.values.size(), plan_.buffers.size()};
}

void KernelBuilder::forget_after(const Mark& mark) {
  plan_.graph.nodes.resize(mark.nodes);
  plan_.graph.values.resize(mark.values);
  buffers_.forget_after(mark.buffers);
}

std::variant<BuiltKernel, KernelCut> KernelBuilder::build(const KernelRequest& request) {
  if (request.in_shared) {
    if (std::optional<BuiltKernel> built = build_shared_kernel(plan_, buffers_, device_, request)) {
      return std::move(*built);
    }
    return KernelCut{{}, "a row does not fit in shared memory"};
  }
  return Building(plan_, buffers_, device_, request).run();
}

}  // namespace stitch
