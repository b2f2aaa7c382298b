// The geometry of a stage: along which atom its largest accesses are contiguous, and in which order
// rows and columns are flattened because of that.
#pragma once
#include <span>
#include <vector>

#include "planner/access/address.h"
#include "planner/structure/kernel_structure.h"

namespace stitch {

struct StageGeometry {
  Address main;  // the access that moves most elements
  bool main_is_store = false;
  std::vector<AtomId> rows;  // outer first
  // The contiguous atom is a row atom: neighbouring threads take neighbouring rows.
  bool lanes_along_rows = false;
  int64_t largest_element = 1;  // bytes, among the accesses of full size
  int64_t main_points = 1;
};

StageGeometry find_geometry(KernelNodes& nodes, const KernelStructure& structure,
                            const Cluster& cluster);

// Where the stored element of a clone lies in its buffer.
Address store_address(KernelNodes& nodes, AccessValueId clone);

}  // namespace stitch
