// Splits long reductions of few rows: several blocks share a row, each reduces a part of it, and
// one more reduction joins the parts (AStitch 4.2; stitching.md 4).
//
//   sum over c of x[r,c], 64 rows   ->   p[r,s] = sum over i of x[r, s*n + i],  sum over s of
//   p[r,s]
#pragma once
#include <vector>

#include "planner/device_model.h"
#include "planner/kernel_structure.h"

namespace stitch {

// Splits every reduce of the kernel's one cluster where its rows leave most of the device idle and
// nothing in the kernel but values per row waits for the results. Returns the atoms that tell the
// parts of a row apart, outer first; empty when nothing was split.
std::vector<AtomId> split_reductions(KernelNodes& nodes, const KernelStructure& structure,
                                     const DeviceModel& device);

}  // namespace stitch
