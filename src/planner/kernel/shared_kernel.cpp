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

}  // namespace

std::optional<BuiltKernel> build_shared_kernel(Plan& plan, PlanBuffers& buffers,
                                               const DeviceModel& device,
                                               const KernelRequest& request) {
  KernelNodes nodes(plan.graph, request.nodes);
  std::vector<AccessValueId> stored;
  std::unordered_map<AccessValueId, BufferId> stores;
  for (const AccessValueId value : request.stored) {
    stored.push_back(nodes.clone_of(value));
    stores.emplace(stored.back(), buffers.of(value));
  }
  for (const AccessNodeId id : nodes.nodes()) {
    const AccessNode& node = plan.graph.node(id);
    if (is_reduce(node) && is_inline_reduce(plan.graph, node)) nodes.rename_reduced(id);
  }
  coalesce_atoms(nodes, stored);
  const KernelStructure apart = find_structure(nodes, stored);
  const std::vector<AtomId> rows = common_rows(nodes, apart);
  if (is_too_large(nodes, apart, rows, device)) return std::nullopt;
  KernelTraffic traffic(nodes);
  StageRequest stage_request;
  stage_request.buffers = &stores;
  stage_request.device = &device;
  stage_request.traffic = &traffic;
  stage_request.block = request.block;
  std::optional<BuiltStage> built =
      build_shared_stage(nodes, one_cluster(nodes, stored, rows), stage_request);
  if (!built) return std::nullopt;
  Kernel kernel;
  kernel.block = built->block;
  kernel.shared_bytes = built->shared_bytes;
  kernel.bytes = traffic.counts();
  kernel.estimate = estimate_of(*built, kernel.bytes, device);
  kernel.places = std::move(built->places);
  Part part;
  part.blocks = built->blocks();
  part.stages.push_back(std::move(built->stage));
  kernel.parts.push_back(std::move(part));
  std::set<SourceId> sources;
  for (const AccessNodeId id : nodes.nodes()) {
    const AccessNode& node = plan.graph.node(id);
    sources.insert(node.sources.begin(), node.sources.end());
    // Whatever is read from memory has a buffer.
    for (const AccessValueId value : sources_of(plan.graph, node)) {
      if (!nodes.producer(value).valid()) buffers.of(value);
    }
  }
  kernel.sources.assign(sources.begin(), sources.end());
  return BuiltKernel{std::move(kernel), traffic.read_bytes()};
}

}  // namespace stitch
