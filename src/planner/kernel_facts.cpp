#include "planner/kernel_facts.h"

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

}  // namespace stitch
