// How many blocks a row is worth: a cluster of sm_90 and later, whose blocks run at the same time
// and write into each other's shared memory (stitching.md 2 and 4).
//
//   softmax of 256 rows of 131072: one block keeps 40960 elements, so four share a row, each keeps
//   its quarter, and what they exchange are four maxima and four sums
#pragma once
#include <cstdint>
#include <vector>

#include "planner/device/device_model.h"
#include "planner/structure/kernel_structure.h"

namespace stitch {

// Cluster sizes to try for the kernel's one cluster of roots, ascending; empty where the device has
// no clusters, where rows fill it and fit a block each, or where a row is too short to be shared.
std::vector<int64_t> cluster_sizes(KernelNodes& nodes, const KernelStructure& structure,
                                   const DeviceModel& device);

}  // namespace stitch
