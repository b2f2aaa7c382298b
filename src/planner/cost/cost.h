// The latency evaluator: microseconds of a stage from its bytes, instructions and parallelism
// (stitching.md 7; the compute term is FusionStitching's L = N_wave * L_warp).
#pragma once
#include <span>

#include "graph/op.h"
#include "planner/device/device_model.h"
#include "planner/plan/plan.h"

namespace stitch {

struct StageWork {
  int64_t blocks = 1;
  int threads = 256;        // of a block
  double busy_share = 1;    // of them: those that have elements
  int resident_blocks = 1;  // per multiprocessor
  double bytes = 0;         // through global memory
  double footprint = 0;     // bytes that have to stay in L2 for the re-reads
  double instructions = 0;  // of single threads, in issue slots
  int reduce_depth = 0;     // reductions that wait for each other
};

// One element of a node.
struct InstructionMix {
  Op op = Op::k_add;
  double loads = 0;
  double weight = -1;  // instructions; < 0: the weight of ops.def
};
// Its instructions times the cycles of their class.
double issue_slots(const DeviceModel& device, const InstructionMix& mix);
// Issue slots in a microsecond of a device whose schedulers are all busy.
double lanes_per_us(const DeviceModel& device);

// GB/s that so many blocks can pull: Little's law with what a thread has in flight, what one
// multiprocessor can take, and the reachable share of the sheet value at most.
double reachable_gbps(const DeviceModel& device, const StageWork& work);

// Adds a stage to the estimate of its kernel; total_us is left to finish_estimate.
void add_stage_cost(Estimate& estimate, const DeviceModel& device, const StageWork& work);
void finish_estimate(Estimate& estimate, const DeviceModel& device);

// Of a kernel whose estimate may not be finished.
double predicted_us(const Kernel& kernel, const DeviceModel& device);
// Of independent kernels in one launch.
double packed_us(std::span<const Estimate> kernels, const DeviceModel& device);

}  // namespace stitch
