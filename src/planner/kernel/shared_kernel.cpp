#include "planner/kernel/shared_kernel.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "planner/cost/cost.h"
#include "planner/stage/shared_stage.h"
#include "planner/structure/coalesce.h"
#include "planner/structure/kernel_structure.h"

namespace stitch {
namespace {

// Nothing is known of the bytes before a stage is built: what cannot fit is not tried.
constexpr int64_t kLeastBytesPerPoint = 2;

// What every block computes again: less than it takes to launch a kernel.
constexpr int64_t kMostRepeatedPoints = 8 << 10;
constexpr int64_t kFewestBlocks = 8;
// Rows that a block takes of a level that is spread over all of them.
constexpr int64_t kFewestRows = 4;
constexpr int64_t kMostRows = 64;
constexpr int64_t kBlocksPerSm = 2;

bool is_too_large(const KernelNodes& nodes, const KernelStructure& structure,
                  const std::vector<AtomId>& rows, const DeviceModel& device) {
  const int64_t blocks = point_count(nodes.pool(), rows);
  return std::any_of(structure.roots.begin(), structure.roots.end(),
                     [&](const StructureRoot& root) {
                       return point_count(nodes.pool(), root.space) / blocks * kLeastBytesPerPoint >
                              device.shared_bytes_per_block;
                     });
}

Estimate estimate_of(const BuiltStage& built, const ByteCounts& bytes, const DeviceModel& device) {
  Estimate estimate;
  estimate.registers = built.registers;
  StageWork work;
  work.blocks = built.blocks();
  work.threads = built.block;
  // Lanes that are no neighbours in memory pull whole sectors through L2.
  work.bytes = std::max(static_cast<double>(bytes.bytes),
                        static_cast<double>(bytes.requested) * device.dram_gbps / device.l2_gbps);
  work.instructions = built.instructions;
  work.reduce_depth = built.reduce_depth;
  work.resident_blocks =
      resident_blocks(device, {built.block, built.registers, built.shared_bytes});
  add_stage_cost(estimate, device, work);
  return estimate;
}

// One kernel; each object builds one.
class SharedKernel {
 public:
  SharedKernel(Plan& plan, PlanBuffers& buffers, const DeviceModel& device,
               const KernelRequest& request)
      : plan_(plan),
        buffers_(buffers),
        device_(device),
        request_(request),
        nodes_(plan.graph, request.nodes) {
    for (const AccessValueId value : request.stored) {
      stored_.push_back(nodes_.clone_of(value));
      stores_.emplace(stored_.back(), buffers.of(value));
    }
    for (const AccessNodeId id : nodes_.nodes()) {
      const AccessNode& node = plan.graph.node(id);
      if (is_reduce(node) && is_inline_reduce(plan.graph, node)) nodes_.rename_reduced(id);
    }
    coalesce_atoms(nodes_, stored_);
    apart_ = find_structure(nodes_, stored_);
  }

  // Blocks own what all roots keep.
  std::optional<BuiltKernel> with_common_rows() {
    const std::vector<AtomId> rows = common_rows(nodes_, apart_);
    if (is_too_large(nodes_, apart_, rows, device_)) return std::nullopt;
    last_ = 0;
    return build(rows);
  }

  // Whether small levels lie in front of one that many blocks share.
  bool may_repeat_levels() {
    last_ = 0;
    for (const Cluster& cluster : apart_.clusters) last_ = std::max(last_, cluster.level);
    return last_ > 0 && are_small() && point_count(nodes_.pool(), repeated_rows()) >= kFewestBlocks;
  }

  // Blocks own what the roots of the last level keep; each computes all before them.
  std::optional<BuiltKernel> with_repeated_levels() {
    if (!may_repeat_levels()) return std::nullopt;
    std::vector<AtomId> rows = repeated_rows();
    for (const StructureRoot& root : apart_.roots) {
      if (!is_repeated(root) || root.kind != RootKind::kReduce) continue;
      // The whole sum, whatever the block owns.
      const std::vector<AtomId>& reduced = nodes_.graph().node(root.node).reduced;
      if (std::any_of(reduced.begin(), reduced.end(),
                      [&](AtomId atom) { return contains(rows, atom); })) {
        nodes_.rename_reduced(root.node);
      }
    }
    share_vectors();
    split_rows(rows);
    return build(rows);
  }

 private:
  bool is_repeated(const StructureRoot& root) const {
    return apart_.clusters[root.cluster].level < last_;
  }

  bool are_small() const {
    return std::all_of(apart_.roots.begin(), apart_.roots.end(), [&](const StructureRoot& root) {
      return !is_repeated(root) || point_count(nodes_.pool(), root.space) <= kMostRepeatedPoints;
    });
  }

  std::vector<AtomId> repeated_rows() const {
    return common_rows(nodes_, apart_,
                       [this](const StructureRoot& root) { return is_repeated(root); });
  }

  // What the sums of a block read at every row alike is computed once, where it follows a reduce.
  void share_vectors() {
    const std::set<AccessValueId> behind = behind_reduces();
    for (const StructureRoot& root : apart_.roots) {
      if (is_repeated(root) || root.kind != RootKind::kReduce) continue;
      const AccessNode node = nodes_.graph().node(root.node);
      for (const Read& operand : node.operands) {
        for (const Piece& piece : operand.pieces) {
          if (behind.count(piece.source) != 0 && is_vector(piece.source, node.axes)) {
            nodes_.mark_shared(piece.source);
          }
        }
      }
    }
  }

  bool is_vector(AccessValueId value, const std::vector<AtomId>& kept) const {
    const AccessNodeId producer = nodes_.producer(value);
    if (!producer.valid() || nodes_.graph().node(producer).kind != AccessKind::kElementwise) {
      return false;
    }
    const std::vector<AtomId>& atoms = nodes_.atoms(value);
    const bool is_fixed =
        std::none_of(atoms.begin(), atoms.end(), [&](AtomId atom) { return contains(kept, atom); });
    return is_fixed && !atoms.empty();
  }

  // Results of reduces, and what is computed from them.
  std::set<AccessValueId> behind_reduces() const {
    std::set<AccessValueId> behind;
    for (const AccessNodeId id : nodes_.nodes()) {
      const AccessNode& node = nodes_.graph().node(id);
      const std::vector<AccessValueId> sources = sources_of(nodes_.graph(), node);
      const bool follows =
          is_reduce(node) || std::any_of(sources.begin(), sources.end(), [&](AccessValueId source) {
            return behind.count(source) != 0;
          });
      if (follows) behind.insert(node.results.begin(), node.results.end());
    }
    return behind;
  }

  // So many rows for a block that each has a warp, and that blocks fill the device.
  void split_rows(std::vector<AtomId>& rows) {
    const int64_t blocks = point_count(nodes_.pool(), rows);
    const int64_t wanted = static_cast<int64_t>(device_.sm_count) * kBlocksPerSm;
    int64_t inner = kFewestRows;
    while (inner < kMostRows && blocks / (2 * inner) >= wanted) inner *= 2;
    const auto longest = std::max_element(rows.begin(), rows.end(), [&](AtomId a, AtomId b) {
      return nodes_.pool().atom(a).extent < nodes_.pool().atom(b).extent;
    });
    const int64_t extent = nodes_.pool().atom(*longest).extent;
    if (extent < 2 * inner) return;
    const KernelNodes::Halves halves = nodes_.split(*longest, inner);
    if (halves.ragged) guards_.push_back({halves.whole, 0, extent});
    *longest = halves.outer;
  }

  std::optional<BuiltKernel> build(const std::vector<AtomId>& rows) {
    KernelTraffic traffic(nodes_);
    StageRequest request;
    request.buffers = &stores_;
    request.device = &device_;
    request.traffic = &traffic;
    request.block = request_.block;
    request.guards = guards_;
    std::optional<BuiltStage> built =
        build_shared_stage(nodes_, one_cluster(nodes_, stored_, rows), request);
    if (!built) return std::nullopt;
    Kernel kernel;
    kernel.block = built->block;
    kernel.shared_bytes = built->shared_bytes;
    kernel.bytes = traffic.counts();
    kernel.estimate = estimate_of(*built, kernel.bytes, device_);
    // Nothing else is loaded before the reductions that every block repeats are done.
    if (last_ > 0) {
      kernel.estimate.memory_us +=
          device_.floor_us + device_.reduce_us * std::max(built->reduce_depth - 1, 0);
    }
    kernel.places = std::move(built->places);
    Part part;
    part.blocks = built->blocks();
    part.stages.push_back(std::move(built->stage));
    kernel.parts.push_back(std::move(part));
    collect_sources(kernel);
    return BuiltKernel{std::move(kernel), traffic.read_bytes()};
  }

  void collect_sources(Kernel& kernel) {
    std::set<SourceId> sources;
    for (const AccessNodeId id : nodes_.nodes()) {
      const AccessNode& node = plan_.graph.node(id);
      sources.insert(node.sources.begin(), node.sources.end());
      // Whatever is read from memory has a buffer.
      for (const AccessValueId value : sources_of(plan_.graph, node)) {
        if (!nodes_.producer(value).valid()) buffers_.of(value);
      }
    }
    kernel.sources.assign(sources.begin(), sources.end());
  }

  Plan& plan_;
  PlanBuffers& buffers_;
  const DeviceModel& device_;
  const KernelRequest& request_;
  KernelNodes nodes_;
  std::vector<AccessValueId> stored_;
  std::unordered_map<AccessValueId, BufferId> stores_;
  KernelStructure apart_;
  int last_ = 0;
  std::vector<Guard> guards_;
};

}  // namespace

std::optional<BuiltKernel> build_shared_kernel(Plan& plan, PlanBuffers& buffers,
                                               const DeviceModel& device,
                                               const KernelRequest& request) {
  SharedKernel first(plan, buffers, device, request);
  const bool may_repeat = first.may_repeat_levels();
  std::optional<BuiltKernel> common = first.with_common_rows();
  if (!may_repeat) return common;
  std::optional<BuiltKernel> repeated =
      SharedKernel(plan, buffers, device, request).with_repeated_levels();
  if (!common || !repeated) return common ? std::move(common) : std::move(repeated);
  const bool repeats =
      predicted_us(repeated->kernel, device) < predicted_us(common->kernel, device);
  return repeats ? std::move(repeated) : std::move(common);
}

}  // namespace stitch
