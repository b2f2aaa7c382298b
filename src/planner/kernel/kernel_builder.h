// Builds one kernel from a set of nodes, or says where the set has to be cut. Independent parts
// come as a cut too: each is built with clones of its own, and packing joins them.
#pragma once
#include <variant>

#include "planner/device/device_model.h"
#include "planner/kernel/kernel_assembly.h"
#include "planner/kernel/kernel_cut.h"
#include "planner/plan/plan.h"
#include "planner/plan/plan_buffers.h"

namespace stitch {

class KernelBuilder {
 public:
  KernelBuilder(Plan& plan, PlanBuffers& buffers, const DeviceModel& device)
      : plan_(plan), buffers_(buffers), device_(device) {}

  std::variant<BuiltKernel, KernelCut> build(const KernelRequest& request);

  // What is built behind a mark can be forgotten: clones, and buffers that nothing else uses.
  struct Mark {
    size_t nodes = 0, values = 0, buffers = 0;
  };
  Mark mark() const;
  void forget_after(const Mark& mark);

 private:
  Plan& plan_;
  PlanBuffers& buffers_;
  const DeviceModel& device_;
};

}  // namespace stitch
