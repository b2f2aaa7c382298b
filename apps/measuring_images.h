// The measuring kernels of src/calibrate, compiled for a device.
#pragma once
#include <cstddef>
#include <filesystem>
#include <vector>

#include "runtime/device.h"

namespace stitch {

// Cubins by NVRTC, one for each text; for the emulated device one host image. `cuda`: folder of a
// toolkit, or empty. DeviceError when NVRTC is absent or does not know the architecture.
std::vector<std::vector<std::byte>> measuring_images(const runtime::Device& device,
                                                     const std::filesystem::path& cuda);

}  // namespace stitch
