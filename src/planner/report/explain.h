// Why kernels were not stitched: every value that goes through memory from one step of a plan to
// another, with the reason, read off the finished plan.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "planner/device/device_model.h"
#include "planner/plan/plan.h"

namespace stitch {

// Predicted microseconds of two kernels as planned, and of one kernel with a barrier of all blocks
// in the value's place, which leaves out one launch and the value's way through memory.
struct EdgeCost {
  double apart_us = 0;
  double stitched_us = 0;
};

struct PlanEdge {
  size_t writer = 0, reader = 0;  // steps
  std::string value;              // of the model
  int64_t bytes = 0;
  std::string producer, consumer;  // "/encoder/Relu (Relu)"
  std::string reason;              // one lower-case clause
  std::vector<EdgeCost> cost;      // one entry where both are kernels that nothing keeps apart
};

// In the order of readers, then writers, then values. `otherwise` is the reason where the plan has
// none: that the fusion mode joins no more, or that a file says so. `device`: what it was planned
// for.
std::vector<PlanEdge> plan_edges(const Plan& plan, const DeviceModel& device,
                                 std::string_view otherwise);

// "k00_relu -> library call: 'h' (512 B) from /Relu (Relu) to /MatMul (MatMul): reason; apart ..."
std::string edge_text(const Plan& plan, const PlanEdge& edge);

// Kernel's name, or "the library call of /MatMul (MatMul)".
std::string step_name(const Plan& plan, const Step& step);

}  // namespace stitch
