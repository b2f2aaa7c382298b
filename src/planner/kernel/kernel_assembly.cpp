#include "planner/kernel/kernel_assembly.h"

#include <algorithm>
#include <utility>

#include "planner/cost/cost.h"

namespace stitch {
namespace {

// A block that sweeps has its multiprocessor to itself.
constexpr int kSweepBlock = 1024;
// Blocks that meet: so few that all are resident, so many that memory is busy.
constexpr int kMeetingBlock = 512;
constexpr int kMeetingBlocks = 2;  // per multiprocessor

// Results of reduces that higher levels read.
std::set<AccessValueId> read_above(const KernelStructure& structure, int level) {
  std::set<AccessValueId> read;
  for (const StructureRoot& root : structure.roots) {
    if (structure.clusters[root.cluster].level <= level) continue;
    for (const TracedRead& placed : root.trace.placed) read.insert(placed.value);
  }
  return read;
}

// Neighbouring lanes write and read neighbours: rows inside where lanes run along them.
std::vector<AtomId> scratch_order(const StageMapping& mapping, const std::vector<AtomId>& atoms) {
  std::vector<AtomId> outer, inner;
  for (const AtomId atom : atoms) {
    const bool is_row = contains(mapping.rows, atom);
    (is_row == mapping.lanes_along_rows ? inner : outer).push_back(atom);
  }
  outer.insert(outer.end(), inner.begin(), inner.end());
  return outer;
}

// Cuts the groups of a stage in front of each exchange.
std::vector<Stage> stages_of(const BuiltStage& built, const RowExchange& exchange,
                             Separation separation) {
  std::vector<Stage> stages;
  const std::set<size_t> borders(built.exchanges.begin(), built.exchanges.end());
  for (size_t g = 0; g < built.stage.groups.size(); ++g) {
    if (g == 0 || borders.count(g) != 0) {
      Stage stage = built.stage;
      stage.groups.clear();
      if (g > 0) {
        stage.before = separation;
        stage.split_axes = exchange.parts;
        if (separation == Separation::kRowBarrier) {
          stage.counter =
              static_cast<int>(stages.size() - 1) * static_cast<int>(built.stage.mapping.grid_x);
        }
      }
      stages.push_back(std::move(stage));
    }
    stages.back().groups.push_back(built.stage.groups[g]);
  }
  return stages;
}

}  // namespace

KernelAssembly::KernelAssembly(Plan& plan, PlanBuffers& buffers, const DeviceModel& device,
                               KernelNodes& nodes, std::span<const AccessValueId> stored, int block,
                               Techniques techniques)
    : plan_(plan),
      buffers_(buffers),
      device_(device),
      nodes_(nodes),
      stored_(stored.begin(), stored.end()),
      block_(block),
      techniques_(techniques),
      traffic_(nodes) {
  for (const AccessValueId clone : stored) {
    stores_.emplace(clone, buffers.of(nodes.original_of(clone)));
  }
}

BuiltKernel KernelAssembly::turn(const Turn& turn) {
  BuiltStage built = build_turn(nodes_, stored_, turn, stage_request());
  charge(built);
  add_stage(std::move(built));
  return finish();
}

BuiltKernel KernelAssembly::one_stage(const KernelStructure& structure) {
  add_stage(build(structure, structure.clusters.front(), stage_request()));
  return finish();
}

BuiltKernel KernelAssembly::one_stage_of_large_blocks(const KernelStructure& structure) {
  StageRequest request = stage_request();
  request.large_blocks = true;
  add_stage(build(structure, structure.clusters.front(), request));
  return finish();
}

BuiltKernel KernelAssembly::with_ticket(const KernelStructure& structure,
                                        const RowExchange& exchange) {
  const std::vector<AtomId>& split_axes = exchange.parts;
  StageRequest request = stage_request();
  request.block_axes = split_axes;
  request.guards = exchange.guards;
  BuiltStage first = build(structure, structure.clusters[0], request);
  request.scratch = pass_on(structure, 0, first);
  request.block = first.block;
  request.block_axes.clear();
  request.guards.clear();
  request.like = split_axes.empty() ? nullptr : &first.stage.mapping;
  request.all_rows = split_axes.empty();
  BuiltStage last = build(structure, structure.clusters[1], request);
  add_ticket(first, last, split_axes);
  add_stage(std::move(first));
  add_stage(std::move(last));
  return finish();
}

BuiltKernel KernelAssembly::with_row_barriers(const KernelStructure& structure,
                                              const RowExchange& exchange) {
  StageRequest request = stage_request();
  request.block_axes = exchange.parts;
  request.exchanged = exchange.exchanged;
  request.guards = exchange.guards;
  BuiltStage built = build_stage(nodes_, structure, structure.clusters.front(), request);
  for (const AccessValueId value : exchange.exchanged) add_scratch(built, value);
  charge(built);
  std::vector<Stage> stages = stages_of(built, exchange, Separation::kRowBarrier);
  const int barriers = static_cast<int>(stages.size()) - 1;
  kernel_.cooperative = true;
  kernel_.counters = barriers * static_cast<int>(built.stage.mapping.grid_x);
  kernel_.estimate.barrier_us = device_.barrier_us * barriers;
  add_stage(std::move(built));
  part_.stages = std::move(stages);
  return finish();
}

std::optional<BuiltKernel> KernelAssembly::with_clusters(const KernelStructure& structure,
                                                         const RowExchange& exchange) {
  StageRequest request = stage_request();
  request.block_axes = exchange.parts;
  request.guards = exchange.guards;
  request.exchanged = exchange.exchanged;
  BuiltStage built = build_stage(nodes_, structure, structure.clusters.front(), request);
  for (const AccessValueId value : exchange.exchanged) {
    add_to_cluster(built, value, exchange.parts);
  }
  if (built.shared_bytes > device_.shared_bytes_per_block || built.stage.mapping.passes > 1) {
    return std::nullopt;
  }
  charge(built);
  std::vector<Stage> stages = stages_of(built, exchange, Separation::kClusterBarrier);
  const int barriers = static_cast<int>(stages.size()) - 1;
  if (barriers == 0) return std::nullopt;
  kernel_.cluster = static_cast<int>(built.stage.mapping.grid_y);
  kernel_.estimate.barrier_us = device_.cluster_barrier_us * barriers;
  add_stage(std::move(built));
  part_.stages = std::move(stages);
  return finish();
}

std::optional<BuiltKernel> KernelAssembly::sweep(const KernelStructure& structure,
                                                 const RowSweep& sweep, Separation separation) {
  stretch_ = sweep.stretch;
  StageRequest request = stage_request();
  request.block_axes = {sweep.stretch};
  request.all_rows = true;
  if (request.block == 0) request.block = kSweepBlock;
  BuiltStage first = build(structure, structure.clusters[0], request);
  if (!first.fits) return std::nullopt;
  first.stage.guards = sweep.guards;
  request.scratch = pass_on(structure, 0, first);
  request.block = first.block;
  request.block_axes.clear();
  request.all_rows = separation == Separation::kTicket;
  request.most_blocks = request.all_rows ? 0 : first.blocks();
  BuiltStage last = build(structure, structure.clusters[1], request);
  if (separation == Separation::kTicket) {
    add_ticket(first, last, {});
  } else {
    add_grid_barrier(last);
  }
  add_stage(std::move(first));
  add_stage(std::move(last));
  return finish();
}

std::optional<BuiltKernel> KernelAssembly::with_grid_barriers(const KernelStructure& structure) {
  std::vector<const Cluster*> levels;
  for (const Cluster& cluster : structure.clusters) levels.push_back(&cluster);
  std::sort(levels.begin(), levels.end(),
            [](const Cluster* a, const Cluster* b) { return a->level < b->level; });
  StageRequest request = stage_request();
  if (request.block == 0) request.block = kMeetingBlock;
  request.most_blocks = static_cast<int64_t>(device_.sm_count) * kMeetingBlocks;
  for (const Cluster* level : levels) {
    BuiltStage built = build(structure, *level, request);
    const std::vector<AccessValueId> passed = pass_on(structure, level->level, built);
    request.scratch.insert(request.scratch.end(), passed.begin(), passed.end());
    if (!part_.stages.empty()) add_grid_barrier(built);
    add_stage(std::move(built));
  }
  const int resident =
      resident_blocks(device_, {kernel_.block, kernel_.estimate.registers, kernel_.shared_bytes});
  if (part_.blocks > static_cast<int64_t>(resident) * device_.sm_count) return std::nullopt;
  return finish();
}

StageRequest KernelAssembly::stage_request() {
  StageRequest request;
  request.buffers = &stores_;
  request.traffic = &traffic_;
  request.device = &device_;
  request.block = block_;
  request.techniques = techniques_;
  return request;
}

BuiltStage KernelAssembly::build(const KernelStructure& structure, const Cluster& cluster,
                                 const StageRequest& request) {
  BuiltStage built = build_stage(nodes_, structure, cluster, request);
  charge(built);
  return built;
}

// Adds to the estimate what the stage moves and computes; scratch that follows is charged with the
// next stage.
void KernelAssembly::charge(const BuiltStage& built) {
  const int64_t bytes = traffic_.counts().bytes;
  StageWork work;
  work.blocks = built.blocks();
  work.instructions = built.instructions;
  work.reduce_depth = built.reduce_depth;
  work.threads = built.block;
  work.busy_share = built.busy_share;
  work.bytes = static_cast<double>(bytes - charged_bytes_);
  work.resident_blocks =
      resident_blocks(device_, {built.block, built.registers, built.shared_bytes});
  add_stage_cost(kernel_.estimate, device_, work);
  charged_bytes_ = bytes;
}

// Scratch for the results of a stage that higher levels read.
std::vector<AccessValueId> KernelAssembly::pass_on(const KernelStructure& structure, int level,
                                                   BuiltStage& built) {
  std::vector<AccessValueId> passed;
  for (const AccessValueId value : read_above(structure, level)) {
    if (built.places.count(value) == 0) continue;
    add_scratch(built, value);
    passed.push_back(value);
  }
  return passed;
}

void KernelAssembly::add_scratch(BuiltStage& built, AccessValueId value) {
  Place place;
  place.kind = PlaceKind::kScratch;
  place.axes = scratch_order(built.stage.mapping, nodes_.atoms(value));
  // A block that sweeps writes its sums side by side.
  std::stable_partition(place.axes.begin(), place.axes.end(),
                        [&](AtomId atom) { return stretch_.valid() && atom == stretch_; });
  place.strides.assign(place.axes.size(), 1);
  for (size_t d = place.axes.size(); d-- > 1;) {
    place.strides[d - 1] = place.strides[d] * nodes_.pool().atom(place.axes[d]).extent;
  }
  place.buffer = buffers_.add_scratch(value);
  traffic_.add_scratch(plan_.buffers[place.buffer.index].bytes);
  built.places[value].push_back(std::move(place));
}

// Room for the parts of all blocks of the cluster, of each row of the block.
void KernelAssembly::add_to_cluster(BuiltStage& built, AccessValueId value,
                                    const std::vector<AtomId>& parts) {
  constexpr int64_t kAlignment = 16;
  const StageMapping& mapping = built.stage.mapping;
  const int64_t rows = static_cast<int64_t>(mapping.row_threads) * mapping.rows_per_thread;
  const int64_t element = size_bytes(compute_type(plan_.graph.value(value).dtype));
  Place place;
  place.kind = PlaceKind::kCluster;
  place.offset = (built.shared_bytes + kAlignment - 1) / kAlignment * kAlignment;
  place.axes = parts;
  place.strides.assign(parts.size(), 1);
  for (size_t d = parts.size(); d-- > 1;) {
    place.strides[d - 1] = place.strides[d] * nodes_.pool().atom(parts[d]).extent;
  }
  if (rows > 1) place.row_stride = mapping.grid_y;
  built.shared_bytes = place.offset + rows * mapping.grid_y * element;
  built.places[value].push_back(std::move(place));
}

void KernelAssembly::add_ticket(const BuiltStage& first, BuiltStage& last,
                                const std::vector<AtomId>& axes) {
  const int64_t shared = std::max(first.shared_bytes, last.shared_bytes);
  last.stage.before = Separation::kTicket;
  last.stage.split_axes = axes;
  last.stage.whole_grid = axes.empty();
  last.stage.counter = 0;
  last.stage.flag_offset = (shared + 3) / 4 * 4;
  kernel_.shared_bytes = last.stage.flag_offset + 4;
  kernel_.counters = axes.empty() ? 1 : static_cast<int>(first.stage.mapping.grid_x);
  kernel_.estimate.barrier_us += device_.ticket_us;
}

void KernelAssembly::add_grid_barrier(BuiltStage& last) {
  last.stage.before = Separation::kGridBarrier;
  last.stage.counter = kernel_.counters++;
  kernel_.cooperative = true;
  kernel_.estimate.barrier_us += device_.barrier_us;
}

void KernelAssembly::add_stage(BuiltStage built) {
  kernel_.block = std::max(part_.stages.empty() ? 0 : kernel_.block, built.block);
  kernel_.shared_bytes = std::max(kernel_.shared_bytes, built.shared_bytes);
  kernel_.estimate.registers = std::max(kernel_.estimate.registers, built.registers);
  if (built.stage.before != Separation::kTicket) {
    part_.blocks = std::max(part_.blocks, built.blocks());
  }
  kernel_.places.merge(built.places);
  part_.stages.push_back(std::move(built.stage));
}

BuiltKernel KernelAssembly::finish() {
  kernel_.bytes = traffic_.counts();
  kernel_.parts.push_back(std::move(part_));
  collect_sources();
  note_loads();
  return {std::move(kernel_), traffic_.read_bytes()};
}

void KernelAssembly::collect_sources() {
  std::set<SourceId> seen;
  for (const AccessNodeId id : nodes_.nodes()) {
    for (const SourceId source : plan_.graph.node(id).sources) seen.insert(source);
  }
  kernel_.sources.assign(seen.begin(), seen.end());
}

// Whatever is read from memory has a buffer.
void KernelAssembly::note_loads() {
  for (const AccessNodeId id : nodes_.nodes()) {
    for (const AccessValueId value : sources_of(plan_.graph, plan_.graph.node(id))) {
      if (!nodes_.producer(value).valid()) buffers_.of(value);
    }
  }
}

}  // namespace stitch
