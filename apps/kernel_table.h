// The table of kernels that `compile`, `inspect` and the demo show, from a bundle's manifest.
#pragma once
#include <string>

#include "emit_cuda/bundle/manifest.h"

namespace stitch {

// One row per kernel and a line of totals. Twins are left out: they only run where grid barriers
// do not fit. `limit` > 0 shows that many of the kernels that move most bytes.
std::string kernel_table(const ManifestArchitecture& architecture, size_t limit = 0);

// Everything about one kernel: nodes, geometry, resources, bytes.
std::string kernel_details(const ManifestKernel& kernel);

}  // namespace stitch
