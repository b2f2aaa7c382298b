// The buffers of a plan while it grows: one per value that passes through device memory.
#pragma once
#include <unordered_map>
#include <vector>

#include "planner/absorb/assembly.h"
#include "planner/plan/naming.h"
#include "planner/plan/plan.h"

namespace stitch {

class PlanBuffers {
 public:
  // Inputs and outputs have their buffers from the start.
  explicit PlanBuffers(Plan& plan);

  // The buffer of a value, row-major; made on first use: a constant's in weights.bin, else one in
  // the arena. None for constants of one element, which are literals in the text.
  BufferId of(AccessValueId value);
  // Before `of(part.part)`, wholes before their parts: the part's buffer is a range of the whole's.
  void place_inside(const PartInside& part);
  // Scratch of one kernel for the elements of a clone.
  BufferId add_scratch(AccessValueId clone);
  // Drops those that were added when there were `count`: of kernels that nobody keeps.
  void forget_after(size_t count);
  // After all steps are known: offsets of constants, and the arena by lifetimes.
  void lay_out();

 private:
  void drop_unused();
  BufferId add(BufferKind kind, AccessValueId value, int index);

  Plan& plan_;
  BufferNames names_;
  std::unordered_map<AccessValueId, BufferId> of_value_;
};

// A constant of one element, which has no buffer.
bool is_literal(const AccessGraph& graph, AccessValueId value);

}  // namespace stitch
