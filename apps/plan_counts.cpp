#include "plan_counts.h"

#include <fmt/format.h>

#include <algorithm>

#include "console.h"
#include "planner/report/kernel_facts.h"

namespace stitch {

namespace {

// Elements of one value at indices that do not depend on data: a reader could take them from there.
bool reads_one_place(const AccessNode& node, const AccessGraph& graph) {
  return std::all_of(node.operands.begin(), node.operands.end(), [&](const Read& read) {
    if (read.pieces.size() != 1) return false;
    const std::vector<ExprId>& index = read.pieces[0].index;
    return std::none_of(index.begin(), index.end(),
                        [&](ExprId e) { return graph.pool.has_read(e); });
  });
}

// Every node is a copy: what an element is does not change, only where it lies. Gathers and
// concatenations are no copies.
bool only_moves(const Kernel& kernel, const AccessGraph& graph) {
  bool any = false;
  for (const Part& part : kernel.parts)
    for (const Stage& stage : part.stages)
      for (const Group& group : stage.groups)
        for (AccessNodeId id : group.nodes) {
          const AccessNode& node = graph.node(id);
          if (node.kind != AccessKind::kElementwise || node.op != Op::k_bitcast) return false;
          if (!reads_one_place(node, graph)) return false;
          any = true;
        }
  return any;
}

}  // namespace

PlanCounts count_plan(const Plan& plan) {
  PlanCounts counts;
  counts.regions = plan.regions;
  counts.notes = plan.notes;
  for (const Step& step : plan.steps) {
    if (const auto* matmul = std::get_if<LibraryMatmul>(&step)) {
      ++counts.contractions;
      counts.contraction_calls += matmul->layout.calls();
      continue;
    }
    const Kernel& kernel = std::get<Kernel>(step);
    counts.grid_barriers += waiting_barriers(kernel);
    if (holds_contraction(kernel)) {
      ++counts.contractions;
      ++counts.contraction_calls;
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

std::string bytes_ratio(const PlanCounts& counts) {
  if (counts.compulsory_bytes == 0) return "1.00";
  return fmt::format(
      "{:.2f}", static_cast<double>(counts.bytes) / static_cast<double>(counts.compulsory_bytes));
}

std::string contractions_text(int64_t contractions, int64_t calls) {
  std::string text =
      fmt::format("{} contraction{}", with_thousands(contractions), contractions == 1 ? "" : "s");
  if (calls != contractions) text += fmt::format(" in {} calls", with_thousands(calls));
  return text;
}

}  // namespace stitch
