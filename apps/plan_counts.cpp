#include "plan_counts.h"

namespace stitch {

namespace {

bool holds_contraction(const Kernel& kernel) {
  for (const Part& part : kernel.parts)
    for (const Stage& stage : part.stages)
      if (stage.mapping.kind == MappingKind::kContraction) return true;
  return false;
}

// Every node is a copy: what an element is does not change, only where it lies.
bool only_moves(const Kernel& kernel, const AccessGraph& graph) {
  bool any = false;
  for (const Part& part : kernel.parts)
    for (const Stage& stage : part.stages)
      for (const Group& group : stage.groups)
        for (AccessNodeId id : group.nodes) {
          const AccessNode& node = graph.node(id);
          if (node.kind != AccessKind::kElementwise || node.op != Op::k_bitcast) return false;
          any = true;
        }
  return any;
}

int64_t waiting_barriers(const Kernel& kernel) {
  int64_t count = 0;
  for (const Part& part : kernel.parts)
    for (const Stage& stage : part.stages)
      count += stage.before == Separation::kRowBarrier || stage.before == Separation::kGridBarrier;
  return count;
}

}  // namespace

PlanCounts count_plan(const Plan& plan) {
  PlanCounts counts;
  counts.regions = plan.regions;
  for (const Step& step : plan.steps) {
    if (const auto* matmul = std::get_if<LibraryMatmul>(&step)) {
      counts.contractions += matmul->layout.calls();
      continue;
    }
    const Kernel& kernel = std::get<Kernel>(step);
    counts.grid_barriers += waiting_barriers(kernel);
    if (holds_contraction(kernel)) {
      ++counts.contractions;
      continue;
    }
    ++counts.kernels;
    counts.copies += only_moves(kernel, plan.graph);
    counts.bytes += kernel.bytes.bytes;
    counts.compulsory_bytes += kernel.bytes.compulsory;
    counts.predicted_us += kernel.estimate.total_us;
  }
  return counts;
}

}  // namespace stitch
