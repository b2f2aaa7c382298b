// Runs a product on the emulated device: its operands must lie inside allocations and be defined.
#pragma once
#include <cuda.h>

#include "emulator/blas/descriptors.h"
#include "emulator/driver/device_state.h"

namespace stitch::emulator {

// Reports accesses out of bounds and reads of undefined memory; D becomes defined.
CUresult run_product(DeviceState& state, const Product& product);

}  // namespace stitch::emulator
