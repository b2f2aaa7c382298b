// What the planner knows of a GPU: sizes, bandwidths and costs, and how many blocks fit an SM.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "planner/device/figure.h"
#include "planner/device/sources.h"

namespace stitch {

struct DeviceModel {
  std::string_view name;          // "a100": the argument of --target
  std::string_view architecture;  // "sm_80"
  bool default_of_architecture = true;

  int sm_count = 0;
  Figure clock_ghz;  // boost
  int threads_per_sm = 2048;
  int blocks_per_sm = 32;
  int registers_per_sm = 65536;
  int64_t shared_bytes_per_sm = 0;
  int64_t shared_bytes_per_block = 0;  // after opting in
  int64_t shared_bytes_reserved = 0;   // by the driver, per block
  int64_t shared_granularity = 128;    // bytes; blocks get multiples of it
  int cluster_blocks = 1;              // largest portable cluster; 1: no clusters

  Figure dram_gbps;
  Figure l2_gbps;
  int64_t l2_bytes = 0;
  Figure matmul_f32_tflops;  // fused multiply-adds on f32 without tensor cores
  Figure matmul_f16_tflops;  // tensor cores, f32 accumulation, dense

  // What the latency evaluator adds up; cost_values.def has names, units and meanings.
  Figure launch_us = {1.0, {Origin::kAssumed, "1.0 to 1.3 us are usual in CUDA graphs"}};
  Figure barrier_us = {1.5, sources::kGuess};
  Figure cluster_barrier_us = {0.3, sources::kGuess};
  Figure ticket_us = {0.7, sources::kGuess};
  Figure floor_us = {0.8, sources::kGuess};
  Figure reduce_us = {0.15, sources::kGuess};
  Figure dram_latency_us = {0.6, sources::kGuess};
  Figure bytes_in_flight_per_thread = {32, {Origin::kAssumed, "two loads of 16 bytes"}};
  Figure reachable_share = {0.87, sources::kGuess};
  Figure share_of_one_sm = {2.0, {Origin::kAssumed, "half of the SMs saturate DRAM: a guess"}};
  Figure full_rate_threads = {384, sources::kGuess};

  // Cycles of a scheduler per warp instruction, by class; the weights of ops.def are instructions.
  Figure cpi_light = {1.0, sources::kFullRate};
  Figure cpi_expensive = {1.0, sources::kFullRate};
  Figure cpi_index = {1.0, sources::kFullRate};
  Figure cpi_reduce = {1.0, sources::kFullRate};
  Figure cpi_multiply_add = {1.0, sources::kFullRate};
  Figure cpi_load = {1.0, sources::kFullRate};

  // Microseconds; guesses that nothing reads yet.
  double barrier_block_us = 0.1;  // for every further block per SM
  double l2_latency_us = 0.27;
};

// All models, in the order of devices.def.
std::span<const DeviceModel> device_models();

// By name, or the default of the architecture where the name is empty; a100 where both are.
// ModelError for an unknown one, and for a name of another architecture.
const DeviceModel& find_device(std::string_view name, std::string_view architecture);

// What a block of a kernel asks for.
struct BlockNeeds {
  int threads = 256;
  int registers = 32;        // per thread
  int64_t shared_bytes = 0;  // static and dynamic
};

// Blocks of a kernel that an SM holds at once; 0 when not even one fits. The allocation rules are
// those of the CUDA C++ Programming Guide, "Compute Capabilities", and of cuda_occupancy.h:
// registers in units of 256 per warp from four equal files, shared memory in units of
// `shared_granularity` after the reserve.
//   256 threads of 40 registers: 5 units = 1280 a warp, 12 warps a file, 48 warps, 6 blocks
int resident_blocks(const DeviceModel& device, const BlockNeeds& needs);

// The largest number of registers per thread at which `blocks` blocks of `threads` still fit; at
// most 255.
int registers_for(const DeviceModel& device, int threads, int blocks);

}  // namespace stitch
