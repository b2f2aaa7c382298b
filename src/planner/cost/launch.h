// The launch of a kernel: launch bounds and occupancy from the assumed registers, and with them the
// end of the estimate.
#pragma once
#include <cstdint>

#include "planner/device/device_model.h"
#include "planner/plan/plan.h"

namespace stitch {

void set_launch(Kernel& kernel, const DeviceModel& device);

// Feedback from the assembler, which spilled `spill_bytes` of a thread's values for want of more
// than `registers`: fewer blocks at a time, so that a thread may have what it lacks. False where
// nothing is left to give: one block at a time, or blocks that wait for each other.
bool give_registers(Kernel& kernel, const DeviceModel& device, int registers, int64_t spill_bytes);

}  // namespace stitch
