#include "planner/report/kernel_facts.h"

namespace stitch {

bool holds_contraction(const Kernel& kernel) {
  for (const Part& part : kernel.parts)
    for (const Stage& stage : part.stages)
      if (stage.mapping.kind == MappingKind::kContraction) return true;
  return false;
}

int waiting_barriers(const Kernel& kernel) {
  int count = 0;
  for (const Part& part : kernel.parts)
    for (const Stage& stage : part.stages)
      if (stage.before == Separation::kRowBarrier || stage.before == Separation::kGridBarrier)
        ++count;
  return count;
}

AccessValueId copied_value(const AccessGraph& graph, const Kernel& kernel) {
  for (const Part& part : kernel.parts)
    for (const Stage& stage : part.stages)
      for (const Group& group : stage.groups)
        for (const AccessNodeId id : group.nodes)
          for (const Read& operand : graph.node(id).operands)
            for (const Piece& piece : operand.pieces) return piece.source;
  return {};
}

std::vector<std::string> node_names(const AccessGraph& graph, const Kernel& kernel) {
  std::vector<std::string> names;
  for (const SourceId id : kernel.sources) names.push_back(graph.graph->source(id).name);
  if (!names.empty()) return names;
  const AccessValueId copied = copied_value(graph, kernel);
  return {copied.valid() ? "copy of " + graph.value(copied).name : "copy"};
}

}  // namespace stitch
