#include "planner/stage/instruction_count.h"

#include <set>
#include <utility>

#include "planner/cost/cost.h"
#include "planner/structure/kernel_structure.h"

namespace stitch {
namespace {

// Of a step that carries a sum along (emit_cuda/group_cascade.cpp): has the maximum changed, and by
// what is shifted now; or stitch_move_mean and the count.
constexpr double kMaximumStep = 5;
constexpr double kMeanStep = 14;
constexpr double kMeanElement = 2;  // its distance from the mean before the step

double slots_of(const DeviceModel& device, const AccessNode& node) {
  return issue_slots(device, {.op = node.op, .loads = static_cast<double>(node.operands.size())});
}

// What carrying costs beside the terms themselves, for the group's points.
double carry_slots(const DeviceModel& device, const Group& group, double points) {
  const double steps = points / group.mapping.vector;
  double instructions = 0;
  for (const Root& root : group.roots) {
    switch (root.cascade.rule) {
      case CascadeRule::kNone:
        break;
      case CascadeRule::kShiftedExp:
        instructions += issue_slots(device, {.op = Op::k_reduce, .weight = kMaximumStep}) * steps;
        break;
      case CascadeRule::kSquaredDistance:
        instructions += (issue_slots(device, {.op = Op::k_reduce, .weight = kMeanStep}) +
                         issue_slots(device, {.op = Op::k_div})) *
                            steps +
                        issue_slots(device, {.op = Op::k_reduce, .weight = kMeanElement}) * points;
        break;
    }
  }
  return instructions;
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
  double instructions = carry_slots(device, group, group_points);
  std::set<AccessNodeId> elsewhere, at_home;
  std::set<std::pair<AccessNodeId, size_t>> counted;  // a value at one index is computed once
  for (const Trace* trace : traces) {
    for (const TracedNode& traced : trace->nodes) {
      if (traced.aligned) {
        at_home.insert(traced.node);
        continue;
      }
      elsewhere.insert(traced.node);
      if (!counted.emplace(traced.node, traced.at).second) continue;
      const AccessNode& node = nodes.graph().node(traced.node);
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
