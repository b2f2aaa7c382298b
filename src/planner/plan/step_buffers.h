// The buffers that a step of a plan reads and writes.
#pragma once
#include <vector>

#include "planner/plan/plan.h"

namespace stitch {

// Sorted; who writes a part of a buffer writes the buffer.
struct StepBuffers {
  std::vector<BufferId> reads, writes;
};

// Knows which buffer holds which value; follows a plan to which buffers are added.
class BufferLookup {
 public:
  explicit BufferLookup(const Plan& plan) : plan_(plan) {}
  StepBuffers of(const Step& step);

 private:
  void catch_up();
  void note(const Kernel& kernel, StepBuffers& used) const;
  void add_holder(AccessValueId value, std::vector<BufferId>& buffers) const;

  const Plan& plan_;
  size_t known_ = 0;                // buffers
  std::vector<BufferId> of_value_;  // by value; none: it has no buffer
};

}  // namespace stitch
