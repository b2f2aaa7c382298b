// Launching a kernel on the emulated device: the rules of the driver, then the launch itself.
#pragma once
#include <cuda.h>

#include "emulator/driver/device_state.h"

namespace stitch::emulator {

struct LaunchShape {
  Extent grid{1, 1, 1};
  Extent block{1, 1, 1};
  unsigned shared_bytes = 0;
  Extent cluster{1, 1, 1};
  bool cooperative = false;
};

// Blocks of a shape that one multiprocessor holds at once.
int resident_blocks(const DeviceModel& model, const Function& function, int block_threads,
                    std::size_t shared_bytes);

// What the driver would answer before it launches; CUDA_SUCCESS when the launch is legal.
CUresult check_launch(const DeviceState& state, const Function& function, const LaunchShape& shape);

// Copies the arguments, then submits the launch to the stream.
CUresult launch_kernel(DeviceState& state, Function& function, const LaunchShape& shape,
                       CUstream stream, void** arguments);

}  // namespace stitch::emulator
