// --device: gpu, gpu:1, emulator, emulator:sm_90.
#pragma once
#include <string>

#include "runtime/runner/loaded_bundle.h"

namespace stitch {

// ModelError for anything else.
runtime::RunnerOptions device_options(const std::string& device);

}  // namespace stitch
