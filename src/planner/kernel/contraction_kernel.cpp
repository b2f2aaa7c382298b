#include "planner/kernel/contraction_kernel.h"

#include <algorithm>
#include <utility>

#include "planner/access/address.h"
#include "planner/access/read_rewriter.h"
#include "planner/access/value_size.h"
#include "planner/cost/cost.h"
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

Kernel build_contraction(Plan& plan, PlanBuffers& buffers, const DeviceModel& device,
                         AccessNodeId original) {
  KernelNodes nodes(plan.graph, std::vector<AccessNodeId>{original});
  const AccessNodeId id = nodes.nodes().front();
  const AccessNode node = plan.graph.node(id);
  const AccessValueId result = node.results.front();
  const ContractionAxes axes = contraction_axes(plan.graph, node);

  Stage stage;
  ContractionMapping& mapping = stage.contraction;
  mapping.m_axes = axes.m;
  mapping.n_axes = axes.n;
  mapping.k_axes = axes.k;
  const ExprId stored = store_address(nodes, result).linear;
  const bool m_is_contiguous = std::any_of(axes.m.begin(), axes.m.end(), [&](AtomId atom) {
    const Coefficient c = coefficient(plan.graph, stored, atom);
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
  kernel.sources = node.sources;
  StageMapping& threads = stage.mapping;
  threads.kind = MappingKind::kContraction;
  threads.block_axes = axes.batch;
  threads.row_threads = kernel.block;
  threads.grid_x = ceil_div(m, shape.m) * ceil_div(n, shape.n);
  threads.grid_y = batch;

  Group group;
  group.nodes = {id};
  Root contract;
  contract.kind = RootKind::kContract;
  contract.value = result;
  Root store;
  store.kind = RootKind::kStore;
  store.value = result;
  store.buffer = buffers.of(nodes.original_of(result));
  store.index = nodes.index_in_original(result);
  group.roots = {contract, store};
  stage.groups.push_back(std::move(group));
  Place fragment;
  fragment.kind = PlaceKind::kFragment;
  kernel.places[result] = {fragment};
  for (const AccessValueId source : sources_of(plan.graph, node)) buffers.of(source);

  int64_t moved = plan.graph.pool.range(stored).high + 1;
  moved *= size_bytes(plan.graph.value(result).dtype);
  for (const AccessValueId source : sources_of(plan.graph, node)) {
    const AccessValue& value = plan.graph.value(source);
    const int64_t elements = element_count(value);
    moved += elements * size_bytes(value.dtype);
  }
  kernel.bytes = {moved, moved, moved};
  StageWork work;
  work.blocks = threads.grid_x * threads.grid_y;
  work.threads = kernel.block;
  work.resident_blocks =
      resident_blocks(device, {kernel.block, kernel.estimate.registers, kernel.shared_bytes});
  work.bytes = static_cast<double>(moved);
  work.instructions = 2.0 * static_cast<double>(point_count(plan.graph.pool, node.axes)) *
                      static_cast<double>(point_count(plan.graph.pool, node.reduced));
  add_stage_cost(kernel.estimate, device, work);

  Part part;
  part.blocks = threads.grid_x * threads.grid_y;
  part.stages.push_back(std::move(stage));
  kernel.parts.push_back(std::move(part));
  return kernel;
}

}  // namespace stitch
