#include "planner/cost/cost.h"

#include <algorithm>

namespace stitch {
namespace {

constexpr double kBytesInFlightPerThread = 32;  // two 16-byte loads
constexpr double kReachableShare = 0.87;        // of the sheet bandwidth, by measured copies
constexpr double kShareOfOneSm = 2.0;           // half of the SMs saturate DRAM: a guess
constexpr double kLanesPerSm = 128;
// Threads that an SM needs to issue at full rate.
constexpr double kFullRateThreads = 384;
constexpr double kReduceUs = 0.15;  // shuffles and one block barrier: a guess

}  // namespace

double reachable_gbps(const DeviceModel& device, const StageWork& work) {
  const double sms = device.sm_count;
  const double resident =
      std::min<double>(static_cast<double>(work.blocks), sms * std::max(work.resident_blocks, 1));
  const double threads = resident * work.threads;
  const double by_latency = threads * kBytesInFlightPerThread / device.dram_latency_us / 1e3;
  const double by_sm = std::min<double>(static_cast<double>(work.blocks), sms) * kShareOfOneSm *
                       device.dram_gbps / sms;
  return std::min({kReachableShare * device.dram_gbps, by_latency, by_sm});
}

void add_stage_cost(Estimate& estimate, const DeviceModel& device, const StageWork& work) {
  const double sms = device.sm_count;
  const double blocks = static_cast<double>(std::max<int64_t>(work.blocks, 1));
  const double busy = std::min(blocks, sms);
  const double threads_per_sm =
      std::min(blocks / busy, static_cast<double>(std::max(work.resident_blocks, 1))) *
      work.threads;
  const double lanes_per_us = busy * kLanesPerSm * device.clock_ghz * 1e3 *
                              std::min(1.0, threads_per_sm / kFullRateThreads);
  estimate.memory_us += work.bytes / 1e3 / reachable_gbps(device, work);
  estimate.instruction_us += work.instructions / lanes_per_us;
  estimate.floor_us += device.floor_us + kReduceUs * work.reduce_depth;
}

void finish_estimate(Estimate& estimate, const DeviceModel& device) {
  estimate.launch_us = device.launch_us;
  estimate.total_us = estimate.launch_us + estimate.barrier_us +
                      std::max({estimate.memory_us, estimate.instruction_us, estimate.floor_us});
}

double predicted_us(const Kernel& kernel, const DeviceModel& device) {
  Estimate estimate = kernel.estimate;
  finish_estimate(estimate, device);
  return estimate.total_us;
}

double packed_us(std::span<const Estimate> kernels, const DeviceModel& device) {
  Estimate all;
  for (const Estimate& own : kernels) {
    all.memory_us += own.memory_us;
    all.instruction_us += own.instruction_us;
    all.barrier_us = std::max(all.barrier_us, own.barrier_us);
    all.floor_us = std::max(all.floor_us, own.floor_us);
  }
  finish_estimate(all, device);
  return all.total_us;
}

}  // namespace stitch
