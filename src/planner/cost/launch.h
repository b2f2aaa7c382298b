// The launch of a kernel: launch bounds and occupancy from the assumed registers, and with them the
// end of the estimate.
#pragma once
#include "planner/device/device_model.h"
#include "planner/plan/plan.h"

namespace stitch {

void set_launch(Kernel& kernel, const DeviceModel& device);

}  // namespace stitch
