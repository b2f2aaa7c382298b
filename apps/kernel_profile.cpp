#include "kernel_profile.h"

#include <algorithm>

#include "planner/cost/cost.h"

namespace stitch {

namespace {

constexpr double kSectorBytes = 32;
constexpr double kLanes = 32;
constexpr double kElementBytes = 4;

double ratio(double part, double whole) { return whole > 0 ? part / whole : 1.0; }

void set_resources(KernelProfile& profile, const ManifestKernel& kernel,
                   const DeviceModel& device) {
  profile.registers = kernel.registers;
  profile.spill_bytes = kernel.spill_bytes;
  profile.shared_bytes =
      static_cast<int64_t>(kernel.static_shared_bytes + kernel.dynamic_shared_bytes);
  profile.blocks = int64_t{kernel.grid[0]} * kernel.grid[1] * kernel.grid[2];
  profile.threads = static_cast<int>(kernel.block);
  const int resident =
      resident_blocks(device, {profile.threads, kernel.registers, profile.shared_bytes});
  profile.occupancy =
      std::min(1.0, static_cast<double>(resident) * profile.threads / device.threads_per_sm);
  profile.waves = resident > 0 ? static_cast<double>(profile.blocks) /
                                     (static_cast<double>(resident) * device.sm_count)
                               : 0;
  StageWork most;  // as much as fits
  most.blocks = int64_t{device.sm_count} * device.blocks_per_sm;
  most.threads = device.threads_per_sm;
  StageWork own;
  own.blocks = profile.blocks;
  own.threads = profile.threads;
  own.resident_blocks = resident;
  profile.bandwidth_reach = reachable_gbps(device, own) / reachable_gbps(device, most);
}

void set_counts(KernelProfile& profile, const runtime::LaunchCounts& counts) {
  const auto number = [](uint64_t count) { return static_cast<double>(count); };
  profile.was_launched = true;
  profile.distinct_bytes = number(counts.read_bytes + counts.written_bytes);
  profile.counted_bytes = profile.distinct_bytes + number(counts.read_back_bytes);
  profile.requested_bytes = kSectorBytes * number(counts.sectors);
  profile.used_bytes = number(counts.sector_bytes);
  profile.shared_wavefronts = number(counts.shared_wavefronts);
  profile.shared_ideal_wavefronts = number(counts.shared_ideal_wavefronts);
  profile.requests = number(counts.global_requests);
  profile.vector_requests = number(counts.vector_requests);
  profile.instructions = number(counts.global_requests + counts.shared_requests +
                                counts.warp_exchanges + counts.atomics + counts.products);
  if (counts.blocks > 0) {
    profile.barriers = number(counts.block_barriers) / number(counts.blocks);
    profile.cluster_barriers = number(counts.cluster_barriers) / number(counts.blocks);
  }
}

}  // namespace

double KernelProfile::sector_efficiency() const { return ratio(used_bytes, requested_bytes); }

double KernelProfile::bank_conflict_factor() const {
  return ratio(shared_wavefronts, shared_ideal_wavefronts);
}

double KernelProfile::traffic_ratio() const { return ratio(requested_bytes, distinct_bytes); }

double KernelProfile::vector_share() const { return ratio(vector_requests, requests); }

double KernelProfile::instructions_per_element() const {
  return ratio(instructions * kLanes, distinct_bytes / kElementBytes);
}

KernelProfile profile_kernel(const ManifestKernel& kernel, const runtime::LaunchCounts* counts,
                             const DeviceModel& device) {
  KernelProfile profile;
  profile.name = kernel.name;
  profile.bytes = static_cast<int64_t>(kernel.bytes);
  profile.compulsory_bytes = static_cast<int64_t>(kernel.compulsory_bytes);
  profile.planned_requested_bytes = static_cast<int64_t>(kernel.requested_bytes);
  profile.grid_barriers = kernel.grid_barriers;
  profile.predicted_us = kernel.predicted_us;
  profile.limit_us = static_cast<double>(kernel.compulsory_bytes) / device.dram_gbps / 1e3;
  set_resources(profile, kernel, device);
  if (counts != nullptr) set_counts(profile, *counts);
  return profile;
}

KernelProfile total_profile(const std::vector<KernelProfile>& kernels) {
  KernelProfile total;
  total.name = "all";
  total.occupancy = total.bandwidth_reach = 1;
  for (const KernelProfile& kernel : kernels) {
    total.bytes += kernel.bytes;
    total.compulsory_bytes += kernel.compulsory_bytes;
    total.planned_requested_bytes += kernel.planned_requested_bytes;
    total.grid_barriers += kernel.grid_barriers;
    total.predicted_us += kernel.predicted_us;
    total.limit_us += kernel.limit_us;
    total.counted_bytes += kernel.counted_bytes;
    total.distinct_bytes += kernel.distinct_bytes;
    total.requested_bytes += kernel.requested_bytes;
    total.used_bytes += kernel.used_bytes;
    total.shared_wavefronts += kernel.shared_wavefronts;
    total.shared_ideal_wavefronts += kernel.shared_ideal_wavefronts;
    total.requests += kernel.requests;
    total.vector_requests += kernel.vector_requests;
    total.instructions += kernel.instructions;
    total.barriers = std::max(total.barriers, kernel.barriers);
    total.cluster_barriers = std::max(total.cluster_barriers, kernel.cluster_barriers);
    total.registers = std::max(total.registers, kernel.registers);
    total.spill_bytes = std::max(total.spill_bytes, kernel.spill_bytes);
    total.shared_bytes = std::max(total.shared_bytes, kernel.shared_bytes);
    total.occupancy = std::min(total.occupancy, kernel.occupancy);
    total.bandwidth_reach = std::min(total.bandwidth_reach, kernel.bandwidth_reach);
    total.was_launched |= kernel.was_launched;
  }
  return total;
}

nlohmann::ordered_json profile_json(const KernelProfile& profile) {
  nlohmann::ordered_json json;
  json["name"] = profile.name;
  json["bytes"] = profile.bytes;
  json["compulsory_bytes"] = profile.compulsory_bytes;
  json["counted_bytes"] = profile.counted_bytes;
  json["distinct_bytes"] = profile.distinct_bytes;
  json["requested_bytes"] = profile.requested_bytes;
  json["planned_requested_bytes"] = profile.planned_requested_bytes;
  json["used_bytes"] = profile.used_bytes;
  json["traffic_ratio"] = profile.traffic_ratio();
  json["sector_efficiency"] = profile.sector_efficiency();
  json["bank_conflict_factor"] = profile.bank_conflict_factor();
  json["shared_wavefronts"] = profile.shared_wavefronts;
  json["vector_share"] = profile.vector_share();
  json["requests"] = profile.requests;
  json["instructions_per_element"] = profile.instructions_per_element();
  json["barriers"] = profile.barriers;
  json["cluster_barriers"] = profile.cluster_barriers;
  json["grid_barriers"] = profile.grid_barriers;
  json["registers"] = profile.registers;
  json["spill_bytes"] = profile.spill_bytes;
  json["shared_bytes"] = profile.shared_bytes;
  json["blocks"] = profile.blocks;
  json["threads"] = profile.threads;
  json["occupancy"] = profile.occupancy;
  json["waves"] = profile.waves;
  json["bandwidth_reach"] = profile.bandwidth_reach;
  json["limit_us"] = profile.limit_us;
  json["predicted_us"] = profile.predicted_us;
  json["contraction"] = profile.holds_contraction;
  json["launched"] = profile.was_launched;
  return json;
}

}  // namespace stitch
