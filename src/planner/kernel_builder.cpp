#include "planner/kernel_builder.h"

#include <algorithm>
#include <set>
#include <utility>

#include "planner/coalesce.h"
#include "planner/cost.h"
#include "planner/kernel_structure.h"
#include "planner/split_reduction.h"
#include "planner/stage_builder.h"
#include "planner/turn.h"

namespace stitch {
namespace {

// What one block does in about the time of a launch.
constexpr int64_t kMostPointsOfLastBlock = 16 << 10;

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
    if (structure_.clusters.size() == 1) {
      split_axes_ = split_reductions(nodes_, structure_, device_);
      if (split_axes_.empty()) {
        if (const std::optional<Turn> turn = find_turn(nodes_, structure_)) {
          if (request_.block == 0 || request_.block == kTurnBlock) return assemble_turn(*turn);
        }
        if (waits_may_pay()) return assemble_exchange();
        return assemble({&structure_.clusters.front()});
      }
      structure_ = find_structure(nodes_, stored_);
    }
    if (structure_.reason.empty()) {
      return KernelCut{one_per_cluster(), "its parts are independent"};
    }
    if (!split_axes_.empty() || one_block_can_finish()) {
      return assemble({&structure_.clusters[0], &structure_.clusters[1]});
    }
    return cut();
  }

 private:
  // Level by level: the results of a level's reduces and its stores go through memory, all else is
  // computed again by the levels that need it.
  KernelCut cut() {
    KernelCut result;
    result.reason = structure_.reason;
    int levels = 0;
    for (const Cluster& cluster : structure_.clusters) levels = std::max(levels, cluster.level + 1);
    std::set<AccessValueId> available;
    for (int level = 0; level < levels; ++level) {
      const std::vector<AccessValueId> stored = stored_by(level, available);
      if (stored.empty()) continue;
      result.pieces.push_back(request_for(stored, available));
      available.insert(stored.begin(), stored.end());
    }
    return result;
  }

  // Originals of what the roots of a level leave in memory.
  std::vector<AccessValueId> stored_by(int level, const std::set<AccessValueId>& available) const {
    std::vector<AccessValueId> stored;
    const auto add = [&](AccessValueId clone) {
      const AccessValueId original = nodes_.original_of(clone);
      if (available.count(original) != 0) return;
      if (std::find(stored.begin(), stored.end(), original) == stored.end()) {
        stored.push_back(original);
      }
    };
    for (const StructureRoot& root : structure_.roots) {
      if (structure_.clusters[root.cluster].level != level) continue;
      if (root.kind == RootKind::kStore || is_read_later(root.value, level)) add(root.value);
    }
    return stored;
  }

  bool is_read_later(AccessValueId reduce, int level) const {
    for (const StructureRoot& root : structure_.roots) {
      if (structure_.clusters[root.cluster].level <= level) continue;
      for (const TracedRead& read : root.trace.placed) {
        if (read.value == reduce) return true;
      }
    }
    return false;
  }

  // The nodes that lead to `stored` from what is in memory.
  KernelRequest request_for(const std::vector<AccessValueId>& stored,
                            const std::set<AccessValueId>& available) const {
    std::set<AccessNodeId> needed;
    std::vector<AccessValueId> open = stored;
    while (!open.empty()) {
      const AccessValueId value = open.back();
      open.pop_back();
      const AccessNodeId producer = plan_.graph.value(value).producer;
      if (!producer.valid() || !is_requested(producer) || !needed.insert(producer).second) continue;
      for (const AccessValueId source : sources_of(plan_.graph, plan_.graph.node(producer))) {
        if (available.count(source) == 0) open.push_back(source);
      }
    }
    return {{needed.begin(), needed.end()}, stored};
  }

  bool is_requested(AccessNodeId node) const {
    return std::binary_search(request_.nodes.begin(), request_.nodes.end(), node);
  }

  BuiltKernel assemble_turn(const Turn& turn) {
    std::unordered_map<AccessValueId, BufferId> stores;
    for (const AccessValueId clone : stored_) {
      stores.emplace(clone, buffers_.of(nodes_.original_of(clone)));
    }
    KernelTraffic traffic(nodes_);
    StageRequest request;
    request.buffers = &stores;
    request.device = &device_;
    request.traffic = &traffic;
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
    std::unordered_map<AccessValueId, BufferId> stores;
    for (const AccessValueId clone : stored_) {
      stores.emplace(clone, buffers_.of(nodes_.original_of(clone)));
    }
    KernelTraffic traffic(nodes_);
    StageRequest request;
    request.buffers = &stores;
    request.device = &device_;
    request.traffic = &traffic;
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

  // One stage per cluster; the second follows a ticket.
  BuiltKernel assemble(const std::vector<const Cluster*>& clusters) {
    std::unordered_map<AccessValueId, BufferId> stores;
    for (const AccessValueId clone : stored_) {
      stores.emplace(clone, buffers_.of(nodes_.original_of(clone)));
    }
    KernelTraffic traffic(nodes_);
    StageRequest request;
    request.buffers = &stores;
    request.device = &device_;
    request.traffic = &traffic;
    request.block = request_.block;
    request.block_axes = split_axes_;
    BuiltStage first = build_stage(nodes_, structure_, *clusters.front(), request);
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
      request.one_block = split_axes_.empty();
      BuiltStage last = build_stage(nodes_, structure_, *clusters.back(), request);
      kernel.shared_bytes = std::max(kernel.shared_bytes, last.shared_bytes);
      add_ticket(kernel, first, last);
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

  std::vector<KernelRequest> one_per_cluster() const {
    std::vector<KernelRequest> requests;
    for (const Cluster& cluster : structure_.clusters) {
      std::vector<AccessValueId> stored;
      for (const size_t root : cluster.roots) {
        if (structure_.roots[root].kind == RootKind::kStore) {
          stored.push_back(nodes_.original_of(structure_.roots[root].value));
        }
      }
      requests.push_back(request_for(stored, {}));
      requests.back().block = request_.block;
    }
    return requests;
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
  KernelStructure structure_;
  std::vector<AtomId> split_axes_;  // parts of a row, where blocks share rows
  RowExchange exchange_;
};

}  // namespace

std::variant<BuiltKernel, KernelCut> KernelBuilder::build(const KernelRequest& request) {
  return Building(plan_, buffers_, device_, request).run();
}

}  // namespace stitch
