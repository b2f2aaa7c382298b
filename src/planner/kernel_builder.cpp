#include "planner/kernel_builder.h"

#include <algorithm>
#include <set>
#include <utility>

#include "planner/coalesce.h"
#include "planner/cost.h"
#include "planner/kernel_structure.h"
#include "planner/row_sweep.h"
#include "planner/shared_kernel.h"
#include "planner/split_reduction.h"
#include "planner/stage_builder.h"
#include "planner/turn.h"

namespace stitch {
namespace {

// What one block does in about the time of a launch.
constexpr int64_t kMostPointsOfLastBlock = 16 << 10;
// A block that sweeps has its multiprocessor to itself.
constexpr int kSweepBlock = 1024;

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

  std::variant<BuiltKernel, KernelCut> run() {
    for (const AccessNodeId id : nodes_.nodes()) {
      const AccessNode& node = plan_.graph.node(id);
      if (is_reduce(node) && is_inline_reduce(plan_.graph, node)) nodes_.rename_reduced(id);
    }
    coalesce_atoms(nodes_, stored_);
    structure_ = find_structure(nodes_, stored_);
    if (structure_.clusters.size() > 1 && request_.may_sweep) {
      sweep_ = sweep_rows(nodes_, structure_, device_);
      if (sweep_) return sweep_or_cut();
    }
    if (structure_.clusters.size() == 1) {
      split_axes_ = split_reductions(nodes_, structure_, device_);
      if (split_axes_.empty()) {
        if (const std::optional<Turn> turn = find_turn(nodes_, structure_)) {
          if (request_.block == 0 || request_.block == kTurnBlock) return assemble_turn(*turn);
        }
        if (waits_may_pay()) return assemble_exchange();
        return assemble({&structure_.clusters.front()}, Separation::kNone);
      }
      structure_ = find_structure(nodes_, stored_);
    }
    if (structure_.reason.empty()) {
      return cut_by_clusters(nodes_, structure_, request_);
    }
    if (!split_axes_.empty() || one_block_can_finish()) {
      return assemble({&structure_.clusters[0], &structure_.clusters[1]}, Separation::kTicket);
    }
    return cut_by_levels(nodes_, structure_, request_);
  }

 private:
  StageRequest stage_request(KernelTraffic& traffic) {
    for (const AccessValueId clone : stored_) {
      stores_.emplace(clone, buffers_.of(nodes_.original_of(clone)));
    }
    StageRequest request;
    request.buffers = &stores_;
    request.device = &device_;
    request.traffic = &traffic;
    return request;
  }

  BuiltKernel assemble_turn(const Turn& turn) {
    KernelTraffic traffic(nodes_);
    StageRequest request = stage_request(traffic);
    BuiltStage built = build_turn(nodes_, stored_, turn, request);
    Kernel kernel;
    kernel.block = built.block;
    kernel.shared_bytes = built.shared_bytes;
    kernel.bytes = traffic.counts();
    Part part;
    part.blocks = built.blocks();
    estimate(kernel, built, part.blocks);
    kernel.places = std::move(built.places);
    part.stages.push_back(std::move(built.stage));
    kernel.parts.push_back(std::move(part));
    collect_sources(kernel);
    note_loads();
    return {std::move(kernel), traffic.read_bytes()};
  }

  // The swept kernel where it is possible and not predicted to be slower than without.
  std::variant<BuiltKernel, KernelCut> sweep_or_cut() {
    KernelRequest plain = request_;
    plain.may_sweep = false;
    std::variant<BuiltKernel, KernelCut> otherwise =
        Building(plan_, buffers_, device_, plain).run();
    structure_ = find_structure(nodes_, stored_);
    const bool two_levels = structure_.clusters.size() == 2 && structure_.clusters[0].level == 0 &&
                            structure_.clusters[1].level == 1;
    const bool small = two_levels && one_block_can_finish();
    if (!two_levels || (!small && !request_.may_wait)) return otherwise;
    BuiltKernel swept = assemble({&structure_.clusters[0], &structure_.clusters[1]},
                                 small ? Separation::kTicket : Separation::kGridBarrier);
    std::vector<Kernel> apart;
    collect_kernels(std::move(otherwise), apart);
    double apart_us = 0;
    for (const Kernel& kernel : apart) apart_us += predicted_us(kernel);
    if (!fits_ || predicted_us(swept.kernel) > apart_us) {
      return Building(plan_, buffers_, device_, plain).run();
    }
    if (swept.kernel.cooperative) swept.kernel.twin = std::move(apart);
    return swept;
  }

  // The kernels of a request in launch order, however often it is cut.
  void collect_kernels(std::variant<BuiltKernel, KernelCut> built, std::vector<Kernel>& kernels) {
    if (BuiltKernel* const done = std::get_if<BuiltKernel>(&built)) {
      kernels.push_back(std::move(done->kernel));
      return;
    }
    for (KernelRequest piece : std::get<KernelCut>(built).pieces) {
      piece.may_wait = false;
      collect_kernels(Building(plan_, buffers_, device_, piece).run(), kernels);
    }
  }

  double predicted_us(const Kernel& kernel) const {
    Estimate estimate = kernel.estimate;
    finish_estimate(estimate, device_);
    return estimate.total_us;
  }

  // Blocks that share rows and wait for each other, where that is allowed and faster.
  bool waits_may_pay() {
    if (!request_.may_wait || !structure_.clusters.front().has_reduce) return false;
    exchange_ = split_waiting_reductions(nodes_, structure_, device_);
    return !exchange_.parts.empty();
  }

  // All stages have one mapping; each begins where results of other blocks are read. The twin has a
  // block per row and waits for nothing.
  BuiltKernel assemble_exchange() {
    std::vector<AtomId> rows = structure_.clusters.front().rows;
    rows.insert(rows.end(), exchange_.parts.begin(), exchange_.parts.end());
    structure_ = one_cluster(nodes_, stored_, rows);
    KernelTraffic traffic(nodes_);
    StageRequest request = stage_request(traffic);
    request.block = request_.block;
    request.block_axes = exchange_.parts;
    request.exchanged = exchange_.exchanged;
    BuiltStage built = build_stage(nodes_, structure_, structure_.clusters.front(), request);
    Kernel kernel;
    kernel.block = built.block;
    kernel.shared_bytes = built.shared_bytes;
    kernel.cooperative = true;
    for (const AccessValueId value : exchange_.exchanged) add_scratch(built, value, traffic);
    Part part;
    part.blocks = built.blocks();
    part.stages = stages_of(built);
    kernel.counters =
        static_cast<int>(part.stages.size() - 1) * static_cast<int>(built.stage.mapping.grid_x);
    kernel.bytes = traffic.counts();
    kernel.estimate.barrier_us = device_.barrier_us * static_cast<double>(part.stages.size() - 1);
    estimate(kernel, built, part.blocks);
    kernel.places = std::move(built.places);
    kernel.parts.push_back(std::move(part));
    collect_sources(kernel);
    note_loads();
    KernelRequest without = request_;
    without.may_wait = false;
    std::variant<BuiltKernel, KernelCut> twin = Building(plan_, buffers_, device_, without).run();
    kernel.twin.push_back(std::move(std::get<BuiltKernel>(twin).kernel));
    return {std::move(kernel), traffic.read_bytes()};
  }

  // Cuts the groups of a stage in front of each exchange.
  std::vector<Stage> stages_of(const BuiltStage& built) const {
    std::vector<Stage> stages;
    std::set<size_t> borders(built.exchanges.begin(), built.exchanges.end());
    for (size_t g = 0; g < built.stage.groups.size(); ++g) {
      if (g == 0 || borders.count(g) != 0) {
        Stage stage = built.stage;
        stage.groups.clear();
        stage.guards = exchange_.guards;
        if (g > 0) {
          stage.before = Separation::kRowBarrier;
          stage.split_axes = exchange_.parts;
          stage.counter =
              static_cast<int>(stages.size() - 1) * static_cast<int>(built.stage.mapping.grid_x);
        }
        stages.push_back(std::move(stage));
      }
      stages.back().groups.push_back(built.stage.groups[g]);
    }
    return stages;
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

  // One stage per cluster; the second follows `separation`.
  BuiltKernel assemble(const std::vector<const Cluster*>& clusters, Separation separation) {
    KernelTraffic traffic(nodes_);
    StageRequest request = stage_request(traffic);
    request.block = request_.block;
    request.block_axes = split_axes_;
    if (sweep_) {
      request.block_axes = {sweep_->stretch};
      request.all_rows = true;
      if (request.block == 0) request.block = kSweepBlock;
    }
    BuiltStage first = build_stage(nodes_, structure_, *clusters.front(), request);
    if (sweep_) first.stage.guards = sweep_->guards;
    fits_ = first.fits;
    Kernel kernel;
    kernel.block = first.block;
    kernel.shared_bytes = first.shared_bytes;
    Part part;
    part.blocks = first.blocks();
    if (clusters.size() > 1) {
      request.scratch = place_in_scratch(first, traffic);
      request.block = first.block;
      request.block_axes.clear();
      request.like = split_axes_.empty() ? nullptr : &first.stage.mapping;
      request.all_rows = split_axes_.empty() && separation == Separation::kTicket;
      if (separation == Separation::kGridBarrier) request.most_blocks = part.blocks;
      BuiltStage last = build_stage(nodes_, structure_, *clusters.back(), request);
      kernel.shared_bytes = std::max(kernel.shared_bytes, last.shared_bytes);
      if (separation == Separation::kTicket) {
        add_ticket(kernel, first, last);
      } else {
        add_grid_barrier(kernel, last);
      }
      first.instructions += last.instructions;
      first.places.merge(last.places);
      part.stages = {std::move(first.stage), std::move(last.stage)};
    } else {
      part.stages.push_back(std::move(first.stage));
    }
    kernel.bytes = traffic.counts();
    estimate(kernel, first, part.blocks);
    kernel.places = std::move(first.places);
    kernel.parts.push_back(std::move(part));
    collect_sources(kernel);
    note_loads();
    return {std::move(kernel), traffic.read_bytes()};
  }

  // Results of the first stage that the second one reads.
  std::vector<AccessValueId> place_in_scratch(BuiltStage& first, KernelTraffic& traffic) {
    std::set<AccessValueId> read;
    for (const size_t i : structure_.clusters[1].roots) {
      for (const TracedRead& placed : structure_.roots[i].trace.placed) read.insert(placed.value);
    }
    std::vector<AccessValueId> scratch;
    for (const AccessValueId value : read) {
      if (first.places.count(value) == 0) continue;
      add_scratch(first, value, traffic);
      scratch.push_back(value);
    }
    return scratch;
  }

  void add_scratch(BuiltStage& built, AccessValueId value, KernelTraffic& traffic) {
    Place place;
    place.kind = PlaceKind::kScratch;
    place.axes = scratch_order(built.stage.mapping, nodes_.atoms(value));
    if (sweep_) {  // a block writes its sums side by side
      std::stable_partition(place.axes.begin(), place.axes.end(),
                            [&](AtomId atom) { return atom == sweep_->stretch; });
    }
    place.strides.assign(place.axes.size(), 1);
    for (size_t d = place.axes.size(); d-- > 1;) {
      place.strides[d - 1] = place.strides[d] * nodes_.pool().atom(place.axes[d]).extent;
    }
    place.buffer = buffers_.add_scratch(value);
    traffic.add_scratch(plan_.buffers[place.buffer.index].bytes);
    built.places[value].push_back(std::move(place));
  }

  // Neighbouring lanes write and read neighbours: rows inside where lanes run along them.
  static std::vector<AtomId> scratch_order(const StageMapping& mapping,
                                           const std::vector<AtomId>& atoms) {
    std::vector<AtomId> outer, inner;
    for (const AtomId atom : atoms) {
      const bool is_row = contains(mapping.rows, atom);
      (is_row == mapping.lanes_along_rows ? inner : outer).push_back(atom);
    }
    outer.insert(outer.end(), inner.begin(), inner.end());
    return outer;
  }

  void add_ticket(Kernel& kernel, const BuiltStage& first, BuiltStage& last) const {
    last.stage.before = Separation::kTicket;
    last.stage.split_axes = split_axes_;
    last.stage.whole_grid = split_axes_.empty();
    last.stage.counter = 0;
    last.stage.flag_offset = (kernel.shared_bytes + 3) / 4 * 4;
    kernel.shared_bytes = last.stage.flag_offset + 4;
    kernel.counters = split_axes_.empty() ? 1 : static_cast<int>(first.stage.mapping.grid_x);
    kernel.estimate.barrier_us += device_.ticket_us;
  }

  void add_grid_barrier(Kernel& kernel, BuiltStage& last) const {
    last.stage.before = Separation::kGridBarrier;
    last.stage.counter = 0;
    kernel.counters = 1;
    kernel.cooperative = true;
    kernel.estimate.barrier_us += device_.barrier_us;
  }

  void estimate(Kernel& kernel, const BuiltStage& built, int64_t blocks) const {
    kernel.estimate.registers = built.registers;
    StageWork work;
    work.blocks = blocks;
    work.instructions = built.instructions;
    work.reduce_depth = built.reduce_depth;
    work.threads = kernel.block;
    work.bytes = static_cast<double>(kernel.bytes.bytes);
    work.resident_blocks =
        resident_blocks(device_, {kernel.block, built.registers, kernel.shared_bytes});
    add_stage_cost(kernel.estimate, device_, work);
  }

  void collect_sources(Kernel& kernel) const {
    std::set<SourceId> seen;
    for (const AccessNodeId id : nodes_.nodes()) {
      for (const SourceId source : plan_.graph.node(id).sources) seen.insert(source);
    }
    kernel.sources.assign(seen.begin(), seen.end());
  }

  // Whatever is read from memory has a buffer.
  void note_loads() {
    for (const AccessNodeId id : nodes_.nodes()) {
      for (const AccessValueId value : sources_of(plan_.graph, plan_.graph.node(id))) {
        if (!nodes_.producer(value).valid()) buffers_.of(value);
      }
    }
  }

  Plan& plan_;
  PlanBuffers& buffers_;
  const DeviceModel& device_;
  const KernelRequest& request_;
  KernelNodes nodes_;
  std::vector<AccessValueId> stored_;
  std::unordered_map<AccessValueId, BufferId> stores_;
  KernelStructure structure_;
  std::vector<AtomId> split_axes_;  // parts of a row, where blocks share rows
  RowExchange exchange_;
  std::optional<RowSweep> sweep_;
  bool fits_ = true;  // what the first stage keeps
};

}  // namespace

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
