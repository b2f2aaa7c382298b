// Sums over rows beside sums over columns of the same inputs (the gradients of a norm): a block
// sweeps over a stretch of rows, every thread keeps the sums of its own columns, and one more
// reduction joins the stretches. Each input is loaded once.
//
//   sum over r of x[r,c]   ->   p[s,c] = sum over i of x[s*n + i, c],   sum over s of p[s,c]
#pragma once
#include <optional>
#include <vector>

#include "planner/device/device_model.h"
#include "planner/structure/kernel_structure.h"

namespace stitch {

struct RowSweep {
  AtomId stretch;             // tells the blocks apart
  std::vector<Guard> guards;  // of a last stretch that is shorter
};

// Splits the rows of the cluster whose inputs reduces over those rows read, and marks these reduces
// as swept (KernelNodes::mark_swept). None, with nothing changed, where there is no such pair.
std::optional<RowSweep> sweep_rows(KernelNodes& nodes, const KernelStructure& structure,
                                   const DeviceModel& device);

}  // namespace stitch
