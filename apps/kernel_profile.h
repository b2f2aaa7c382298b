// The quality of a kernel: what the emulator counted of its launch, what the assembler gave it, and
// what the plan said. docs/emulator.md defines the counts.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "emit_cuda/bundle/manifest.h"
#include "planner/device/device_model.h"
#include "runtime/runner/emulator_checks.h"

namespace stitch {

// Bytes and microseconds of one launch. Ratios of nothing are 1.
struct KernelProfile {
  std::string name;
  bool holds_contraction = false;
  bool was_launched = false;  // else its twin ran, and all counts are 0

  // Of the plan.
  int64_t bytes = 0;
  int64_t compulsory_bytes = 0;
  int64_t planned_requested_bytes = 0;
  int grid_barriers = 0;
  double predicted_us = 0;
  double limit_us = 0;  // compulsory bytes at the device's bandwidth

  // Counted.
  double counted_bytes = 0;    // distinct bytes read, written, and read back by the launch
  double distinct_bytes = 0;   // distinct bytes read or written: compulsory traffic as it was
  double requested_bytes = 0;  // 32 times the sectors of all requests
  double used_bytes = 0;       // of those sectors, what some lane uses
  double shared_wavefronts = 0;
  double shared_ideal_wavefronts = 0;
  double requests = 0;          // global
  double vector_requests = 0;   // of them, with 16 bytes a lane
  double instructions = 0;      // of warps: global and shared requests, shuffles, votes, atomics
  double barriers = 0;          // block barriers of one block
  double cluster_barriers = 0;  // of one block, the meeting at its beginning included

  // Of the compiled kernel, on the device.
  int registers = 0;
  int64_t spill_bytes = 0;
  int64_t shared_bytes = 0;
  int64_t blocks = 1;
  int threads = 0;  // of a block
  double occupancy = 0;
  double waves = 0;            // blocks over those that are resident at once
  double bandwidth_reach = 0;  // share of the reachable bandwidth that so many blocks can pull

  double sector_efficiency() const;
  double bank_conflict_factor() const;
  double traffic_ratio() const;  // requested bytes over distinct ones
  double vector_share() const;
  // Lane instructions, as far as counted, for each four distinct bytes.
  double instructions_per_element() const;
};

// `counts`: of the kernel's launch; null when it was not launched.
KernelProfile profile_kernel(const ManifestKernel& kernel, const runtime::LaunchCounts* counts,
                             const DeviceModel& device);

// The sums of all bytes, requests and times; resources are the worst.
KernelProfile total_profile(const std::vector<KernelProfile>& kernels);

nlohmann::ordered_json profile_json(const KernelProfile& profile);

}  // namespace stitch
