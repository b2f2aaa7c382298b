// Builds one kernel from a set of nodes, or says where the set has to be cut. Independent parts
// come as a cut too: each is built with clones of its own, and packing joins them.
#pragma once
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "planner/device_model.h"
#include "planner/plan.h"
#include "planner/plan_buffers.h"

namespace stitch {

struct KernelRequest {
  std::vector<AccessNodeId> nodes;    // of the plan's graph, topological
  std::vector<AccessValueId> stored;  // values of these nodes that others need
  int block = 0;                      // a block size that is given; 0: free
  bool may_wait = true;               // blocks may wait for each other
};

struct BuiltKernel {
  Kernel kernel;
  std::map<AccessValueId, int64_t> read_bytes;  // of each operand, what is read at least once
};

// The request as several kernels, in launch order.
struct KernelCut {
  std::vector<KernelRequest> pieces;
  std::string reason;  // one sentence
};

class KernelBuilder {
 public:
  KernelBuilder(Plan& plan, PlanBuffers& buffers, const DeviceModel& device)
      : plan_(plan), buffers_(buffers), device_(device) {}

  std::variant<BuiltKernel, KernelCut> build(const KernelRequest& request);

 private:
  Plan& plan_;
  PlanBuffers& buffers_;
  const DeviceModel& device_;
};

}  // namespace stitch
