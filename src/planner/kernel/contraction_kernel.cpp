#include "planner/kernel/contraction_kernel.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "planner/access/address.h"
#include "planner/access/read_rewriter.h"
#include "planner/access/value_size.h"
#include "planner/cost/cost.h"
#include "planner/stage/kernel_traffic.h"
#include "planner/stage/stage_geometry.h"
#include "planner/structure/kernel_nodes.h"
#include "planner/structure/kernel_structure.h"

namespace stitch {
namespace {

constexpr int64_t kMostBatches = 65535;  // gridDim.y
// 4 elements of padding keep rows 16-byte aligned and spread a column over the banks.
constexpr int kPadding = 4;

struct TileShape {
  int m, n, k, thread_m, thread_n;
};
// Small results get small tiles, so that more blocks share them.
constexpr TileShape kShapes[] = {
    {64, 64, 16, 4, 4}, {32, 64, 16, 2, 4}, {64, 32, 16, 4, 2},
    {32, 32, 16, 2, 4}, {16, 64, 16, 2, 4},
};

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

TileShape choose_shape(int64_t m, int64_t n, int64_t batch, const DeviceModel& device) {
  if (m <= 16) return kShapes[4];
  const TileShape fitting = m <= 32   ? (n <= 32 ? kShapes[3] : kShapes[1])
                            : n <= 32 ? kShapes[2]
                                      : kShapes[0];
  const int64_t blocks = ceil_div(m, fitting.m) * ceil_div(n, fitting.n) * batch;
  return blocks >= device.sm_count ? fitting : kShapes[3];
}

}  // namespace

ContractionAxes contraction_axes(const AccessGraph& graph, const AccessNode& node) {
  ContractionAxes axes;
  axes.k = node.reduced;
  const std::vector<AtomId> left = atoms_of(graph, node.operands[0]);
  const std::vector<AtomId> right = atoms_of(graph, node.operands[1]);
  for (const AtomId atom : node.axes) {
    const bool in_left = std::binary_search(left.begin(), left.end(), atom);
    const bool in_right = std::binary_search(right.begin(), right.end(), atom);
    if (in_left && in_right) {
      axes.batch.push_back(atom);
    } else {
      (in_right ? axes.n : axes.m).push_back(atom);
    }
  }
  return axes;
}

bool is_tiled_contraction(const AccessGraph& graph, const AccessNode& node) {
  const ContractionAxes axes = contraction_axes(graph, node);
  return point_count(graph.pool, axes.m) > 1 && point_count(graph.pool, axes.n) > 1 &&
         point_count(graph.pool, axes.batch) <= kMostBatches &&
         point_count(graph.pool, node.axes) > 0;
}

namespace {

// Of the operands of the contraction, which its tiles load, and of the epilogue's loads and stores.
ByteCounts traffic_of(Plan& plan, KernelNodes& nodes, const Stage& stage,
                      std::span<const AccessValueId> stored, AccessNodeId contraction) {
  // A thread stores rows of neighbours: as if it were a loop over the results.
  Stage results;
  results.mapping.block_axes = stage.mapping.block_axes;
  results.mapping.rows = stage.contraction.m_axes;
  Group group;
  group.mapping.columns = stage.contraction.n_axes;
  KernelTraffic operands(nodes), traffic(nodes);
  const AccessValueId sum = plan.graph.node(contraction).results.front();
  ValueTracer tracer(nodes, [&](AccessValueId value, bool) { return value == sum; });
  const Trace loaded = tracer.trace_operands(contraction);
  operands.add_loads(results, group, loaded);
  const int64_t moved = operands.counts().compulsory;
  for (const AccessValueId value : stored) {
    Trace trace = tracer.trace_value(value);
    std::erase_if(trace.loads, [&](const TracedRead& load) {
      return std::any_of(loaded.loads.begin(), loaded.loads.end(),
                         [&](const TracedRead& other) { return other.value == load.value; });
    });
    traffic.add_loads(results, group, trace);
    traffic.add_store(results, group, value);
  }
  traffic.end_group();
  const ByteCounts epilogue = traffic.counts();
  return {moved + epilogue.compulsory, moved + epilogue.bytes, moved + epilogue.requested};
}

constexpr double kPerProduct = 2;  // a multiply-add, and its share of the loads from the tile

double instructions_of(const AccessGraph& graph, const KernelNodes& nodes,
                       const DeviceModel& device, AccessNodeId contraction) {
  double instructions = 0;
  for (const AccessNodeId id : nodes.nodes()) {
    const AccessNode& node = graph.node(id);
    const InstructionMix mix =
        id == contraction
            ? InstructionMix{.op = node.op, .weight = kPerProduct}
            : InstructionMix{.op = node.op, .loads = static_cast<double>(node.operands.size())};
    instructions += issue_slots(device, mix) *
                    static_cast<double>(point_count(graph.pool, node.axes)) *
                    static_cast<double>(point_count(graph.pool, node.reduced));
  }
  return instructions;
}

std::vector<SourceId> all_sources(const AccessGraph& graph, const KernelNodes& nodes) {
  std::set<SourceId> sources;
  for (const AccessNodeId id : nodes.nodes()) {
    sources.insert(graph.node(id).sources.begin(), graph.node(id).sources.end());
  }
  return {sources.begin(), sources.end()};
}

}  // namespace

Kernel build_contraction(Plan& plan, PlanBuffers& buffers, const DeviceModel& device,
                         const ContractionRequest& request) {
  KernelNodes nodes(plan.graph, request.nodes);
  const AccessValueId result = nodes.clone_of(plan.graph.node(request.contraction).results.front());
  const AccessNodeId id = nodes.producer(result);
  const AccessNode node = plan.graph.node(id);
  std::vector<AccessValueId> stored;
  for (const AccessValueId value : request.stored) stored.push_back(nodes.clone_of(value));
  const ContractionAxes axes = contraction_axes(plan.graph, node);

  Stage stage;
  ContractionMapping& mapping = stage.contraction;
  mapping.m_axes = axes.m;
  mapping.n_axes = axes.n;
  mapping.k_axes = axes.k;
  const ExprId written = store_address(nodes, stored.back()).linear;
  const bool m_is_contiguous = std::any_of(axes.m.begin(), axes.m.end(), [&](AtomId atom) {
    const Coefficient c = coefficient(plan.graph, written, atom);
    return c.plain && c.value == 1;
  });
  if (m_is_contiguous) {
    std::swap(mapping.m_axes, mapping.n_axes);
    mapping.m_operand = 1;
  }
  const int64_t m = point_count(plan.graph.pool, mapping.m_axes);
  const int64_t n = point_count(plan.graph.pool, mapping.n_axes);
  const int64_t batch = point_count(plan.graph.pool, axes.batch);
  const TileShape shape = choose_shape(m, n, batch, device);
  mapping.tile_m = shape.m;
  mapping.tile_n = shape.n;
  mapping.tile_k = shape.k;
  mapping.thread_m = shape.thread_m;
  mapping.thread_n = shape.thread_n;
  mapping.pitch_m = shape.m + kPadding;
  mapping.pitch_n = shape.n + kPadding;
  const int64_t element =
      std::max<int64_t>(size_bytes(compute_type(plan.graph.value(result).dtype)), 4);
  mapping.shared_n = mapping.pitch_m * shape.k * element;

  Kernel kernel;
  kernel.block = shape.m / shape.thread_m * (shape.n / shape.thread_n);
  kernel.shared_bytes = mapping.shared_n + mapping.pitch_n * shape.k * element;
  kernel.estimate.registers = 32 + shape.thread_m * shape.thread_n * 2;
  kernel.sources = all_sources(plan.graph, nodes);
  StageMapping& threads = stage.mapping;
  threads.kind = MappingKind::kContraction;
  threads.block_axes = axes.batch;
  threads.row_threads = kernel.block;
  threads.grid_x = ceil_div(m, shape.m) * ceil_div(n, shape.n);
  threads.grid_y = batch;

  Group group;
  group.nodes = nodes.nodes();
  Root contract;
  contract.kind = RootKind::kContract;
  contract.value = result;
  group.roots = {contract};
  for (const AccessValueId value : stored) {
    Root store;
    store.kind = RootKind::kStore;
    store.value = value;
    store.buffer = buffers.of(nodes.original_of(value));
    store.index = nodes.index_in_original(value);
    group.roots.push_back(std::move(store));
  }
  stage.groups.push_back(std::move(group));
  Place fragment;
  fragment.kind = PlaceKind::kFragment;
  kernel.places[result] = {fragment};
  for (const AccessNodeId member : nodes.nodes()) {
    for (const AccessValueId source : sources_of(plan.graph, plan.graph.node(member))) {
      if (!nodes.producer(source).valid()) buffers.of(source);
    }
  }

  kernel.bytes = traffic_of(plan, nodes, stage, stored, id);
  StageWork work;
  work.blocks = threads.grid_x * threads.grid_y;
  work.threads = kernel.block;
  work.resident_blocks =
      resident_blocks(device, {kernel.block, kernel.estimate.registers, kernel.shared_bytes});
  work.bytes = static_cast<double>(kernel.bytes.bytes);
  work.instructions = instructions_of(plan.graph, nodes, device, id);
  add_stage_cost(kernel.estimate, device, work);

  Part part;
  part.blocks = threads.grid_x * threads.grid_y;
  part.stages.push_back(std::move(stage));
  kernel.parts.push_back(std::move(part));
  return kernel;
}

}  // namespace stitch
