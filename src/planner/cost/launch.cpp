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
  kernel.min_blocks_per_sm = 1;
  if (kernel.cooperative) {
    int64_t blocks = 0;
    for (const Part& part : kernel.parts) blocks += part.blocks;
    kernel.min_blocks_per_sm = static_cast<int>((blocks + device.sm_count - 1) / device.sm_count);
  }
  for (Kernel& twin : kernel.twin) set_launch(twin, device);
}

}  // namespace stitch
