#include "planner/cost/launch.h"

#include <algorithm>

#include "planner/cost/cost.h"

namespace stitch {

void set_launch(Kernel& kernel, const DeviceModel& device) {
  const int resident =
      resident_blocks(device, {kernel.block, kernel.estimate.registers, kernel.shared_bytes});
  kernel.estimate.occupancy =
      std::min(1.0, static_cast<double>(resident) * kernel.block / device.threads_per_sm);
  finish_estimate(kernel.estimate, device);
  // Residency matters to kernels whose blocks wait for each other; the others get a loose bound.
  kernel.min_blocks_per_sm = 0;
  if (kernel.cooperative) {
    int64_t blocks = 0;
    for (const Part& part : kernel.parts) blocks += part.blocks;
    const int64_t per_sm = (blocks + device.sm_count - 1) / device.sm_count;
    if (per_sm > 1) kernel.min_blocks_per_sm = static_cast<int>(per_sm);
  }
  for (Kernel& twin : kernel.twin) set_launch(twin, device);
}

bool give_registers(Kernel& kernel, const DeviceModel& device, int registers, int64_t spill_bytes) {
  constexpr int64_t kRegisterBytes = 4;
  constexpr int kMostRegisters = 255;
  if (kernel.cooperative || kernel.min_blocks_per_sm == 1) return false;
  const auto lacking = static_cast<int>((spill_bytes + kRegisterBytes - 1) / kRegisterBytes);
  const int wanted = std::min(registers + lacking, kMostRegisters);
  int blocks = resident_blocks(device, {kernel.block, wanted, kernel.shared_bytes});
  if (kernel.min_blocks_per_sm > 0) blocks = std::min(blocks, kernel.min_blocks_per_sm - 1);
  kernel.min_blocks_per_sm = std::max(blocks, 1);
  kernel.estimate.registers = wanted;
  kernel.estimate.occupancy = std::min(
      1.0, static_cast<double>(kernel.min_blocks_per_sm) * kernel.block / device.threads_per_sm);
  return true;
}

}  // namespace stitch
