// The kernels that a CUDA text defines: their names and launch limits, as written.
#pragma once
#include <string>
#include <vector>

#include "emulator/source_text.h"

namespace stitch {

struct KernelSignature {
  std::string name;
  std::string launch_bounds;  // arguments of __launch_bounds__, empty when it is absent
  std::string cluster_dims;   // arguments of __cluster_dims__, empty when it is absent
};

// Finds every `extern "C" __global__ void [attributes] name(` outside comments. Throws
// InternalError when a __global__ function has another form.
//
// Example: extern "C" __global__ void __launch_bounds__(kBlock, 1)
//          row_max(const float* x, float* y) { ... }
// gives {"row_max", "kBlock, 1", ""}.
std::vector<KernelSignature> scan_kernels(const SourceText& unit);

}  // namespace stitch
