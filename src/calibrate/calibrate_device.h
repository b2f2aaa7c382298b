// Measures on a device what the latency evaluator assumes of it.
#pragma once
#include <string_view>
#include <vector>

#include "calibrate/measuring_device.h"
#include "planner/device/calibration.h"

namespace stitch {

struct CalibrateOptions {
  int repetitions = 31;
  // The emulated device takes less work: its threads are fibers of this program.
  int emulated_multiprocessors = 2;
};

// The shipped model of a device: by the name that the driver gives it, else the default of its
// architecture. ModelError when the architecture has none.
const DeviceModel& model_of(const runtime::Device& device);

struct CalibrationOutcome {
  Calibration calibration;
  std::vector<std::string_view> unresolved;  // values that were not told from zero, and left out
};

// The measuring kernels must be loaded. `model` is the shipped one. Throws LauncherError.
CalibrationOutcome calibrate_device(MeasuringDevice& device, const DeviceModel& model,
                                    const CalibrateOptions& options);

}  // namespace stitch
