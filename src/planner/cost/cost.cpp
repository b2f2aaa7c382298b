#include "planner/cost/cost.h"

#include <algorithm>

namespace stitch {
namespace {

// Four schedulers of an SM issue a warp each in a cycle (CUDA C++ Programming Guide).
constexpr double kLanesPerSm = 128;
constexpr double kInstructionsPerLoad = 2;  // address and load

double cpi_of(const DeviceModel& device, OpClass op_class) {
  switch (op_class) {
    case OpClass::k_light:
      return device.cpi_light;
    case OpClass::k_expensive:
      return device.cpi_expensive;
    case OpClass::k_generator:
    case OpClass::k_movement:
    case OpClass::k_indexed:
    case OpClass::k_control:
    case OpClass::k_dynamic:
      return device.cpi_index;
    case OpClass::k_reduce:
    case OpClass::k_window:
    case OpClass::k_scan:
      return device.cpi_reduce;
    case OpClass::k_contraction:
      return device.cpi_multiply_add;
  }
  return 1;
}

}  // namespace

double issue_slots(const DeviceModel& device, const InstructionMix& mix) {
  const OpFacts& op = facts(mix.op);
  return (mix.weight < 0 ? op.weight : mix.weight) * cpi_of(device, op.op_class) +
         kInstructionsPerLoad * mix.loads * device.cpi_load;
}

double lanes_per_us(const DeviceModel& device) {
  return device.sm_count * kLanesPerSm * device.clock_ghz * 1e3;
}

double reachable_gbps(const DeviceModel& device, const StageWork& work) {
  const double sms = device.sm_count;
  const double resident =
      std::min<double>(static_cast<double>(work.blocks), sms * std::max(work.resident_blocks, 1));
  const double threads = resident * work.threads * work.busy_share;
  const double by_latency =
      threads * device.bytes_in_flight_per_thread / device.dram_latency_us / 1e3;
  const double by_sm = std::min<double>(static_cast<double>(work.blocks), sms) *
                       device.share_of_one_sm * device.dram_gbps / sms;
  return std::min({device.reachable_share * device.dram_gbps, by_latency, by_sm});
}

void add_stage_cost(Estimate& estimate, const DeviceModel& device, const StageWork& work) {
  const double sms = device.sm_count;
  const double blocks = static_cast<double>(std::max<int64_t>(work.blocks, 1));
  const double busy = std::min(blocks, sms);
  const double threads_per_sm =
      std::min(blocks / busy, static_cast<double>(std::max(work.resident_blocks, 1))) *
      work.threads * work.busy_share;
  const double lanes = busy * kLanesPerSm * device.clock_ghz * 1e3 *
                       std::min(1.0, threads_per_sm / device.full_rate_threads);
  estimate.memory_us += work.bytes / 1e3 / reachable_gbps(device, work);
  estimate.instruction_us += work.instructions / lanes;
  estimate.floor_us += device.floor_us + device.reduce_us * work.reduce_depth;
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
