// What the planner knows of a GPU: sizes, bandwidths and costs, and how many blocks fit an SM.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace stitch {

struct DeviceModel {
  std::string_view name;          // "a100": the argument of --target
  std::string_view architecture;  // "sm_80"
  bool default_of_architecture = true;

  int sm_count = 0;
  double clock_ghz = 0;  // boost
  int threads_per_sm = 2048;
  int blocks_per_sm = 32;
  int registers_per_sm = 65536;
  int64_t shared_bytes_per_sm = 0;
  int64_t shared_bytes_per_block = 0;  // after opting in
  int64_t shared_bytes_reserved = 0;   // by the driver, per block
  int64_t shared_granularity = 128;    // bytes; blocks get multiples of it
  int cluster_blocks = 1;              // largest portable cluster; 1: no clusters

  double dram_gbps = 0;
  double l2_gbps = 0;
  int64_t l2_bytes = 0;
  double matmul_f32_tflops = 0;  // fused multiply-adds on f32 without tensor cores
  double matmul_f16_tflops = 0;  // tensor cores, f32 accumulation, dense

  // Microseconds. Uncalibrated unless devices.def gives another source.
  double launch_us = 1.0;         // a kernel inside of a CUDA graph
  double barrier_us = 1.5;        // all blocks meet, one block per SM
  double barrier_block_us = 0.1;  // for every further block per SM
  double cluster_barrier_us = 0.3;
  double ticket_us = 0.7;  // an atomic, then one block reads the partial results
  double dram_latency_us = 0.6;
  double l2_latency_us = 0.27;
  double floor_us = 0.8;  // the shortest useful stage: ramp, one dependent load, drain
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
