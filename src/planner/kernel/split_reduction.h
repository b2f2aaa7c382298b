// Splits long reductions of few rows: several blocks share a row, each reduces a part of it, and
// one more reduction joins the parts (AStitch 4.2; stitching.md 4).
//
//   sum over c of x[r,c], 64 rows   ->   p[r,s] = sum over i of x[r, s*n + i],  sum over s of
//   p[r,s]
//
// A sum that can follow another reduce is split with it (kernel/split_cascade.h): it waits for
// nothing but its own block.
#pragma once
#include <vector>

#include "planner/device/device_model.h"
#include "planner/structure/kernel_structure.h"

namespace stitch {

// Splits every reduce of the kernel's one cluster where its rows leave most of the device idle and
// nothing in the kernel but values per row, and sums that follow, waits for the results. Returns
// the atoms that tell the parts of a row apart, outer first; empty when nothing was split.
struct RowExchange {
  std::vector<AtomId> parts;             // of a row, outer first
  std::vector<AccessValueId> exchanged;  // results per part
  std::vector<Guard> guards;             // of a ragged split
};
RowExchange split_reductions(KernelNodes& nodes, const KernelStructure& structure,
                             const DeviceModel& device);

// The same where later columns wait for the results: the blocks of a row exchange their parts at
// barriers, one per reduction that follows no other. Only where all blocks are resident.
RowExchange split_waiting_reductions(KernelNodes& nodes, const KernelStructure& structure,
                                     const DeviceModel& device);
// Into about so many parts, whatever else the device has to do.
RowExchange split_into_parts(KernelNodes& nodes, const KernelStructure& structure,
                             const DeviceModel& device, int64_t parts);

}  // namespace stitch
