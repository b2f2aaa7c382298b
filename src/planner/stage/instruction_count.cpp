#include "planner/stage/instruction_count.h"

#include <set>

#include "planner/cost/cost.h"
#include "planner/structure/kernel_structure.h"

namespace stitch {
namespace {

double slots_of(const DeviceModel& device, const AccessNode& node) {
  return issue_slots(device, {.op = node.op, .loads = static_cast<double>(node.operands.size())});
}

}  // namespace

double count_instructions(const KernelNodes& nodes, const DeviceModel& device, const Stage& stage,
                          const Group& group, std::span<const Trace* const> traces) {
  const IndexPool& pool = nodes.pool();
  double group_points = 1;
  for (const auto* atoms : {&stage.mapping.rows, &stage.mapping.block_axes,
                            &group.mapping.inner_rows, &group.mapping.columns}) {
    group_points *= static_cast<double>(point_count(pool, *atoms));
  }
  double instructions = 0;
  std::set<AccessNodeId> elsewhere, at_home;
  for (const Trace* trace : traces) {
    for (const TracedNode& traced : trace->nodes) {
      if (traced.aligned) {
        at_home.insert(traced.node);
        continue;
      }
      const AccessNode& node = nodes.graph().node(traced.node);
      elsewhere.insert(traced.node);
      instructions += slots_of(device, node) * group_points * traced.repeats *
                      static_cast<double>(point_count(pool, node.reduced));
    }
  }
  for (const AccessNodeId id : group.nodes) {
    if (elsewhere.count(id) != 0 && at_home.count(id) == 0) continue;
    const AccessNode& node = nodes.graph().node(id);
    instructions += slots_of(device, node) * static_cast<double>(point_count(pool, node.axes)) *
                    static_cast<double>(point_count(pool, node.reduced));
  }
  return instructions;
}

}  // namespace stitch
