// Where a set of nodes that is no single kernel is cut: level by level, or part by part.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "planner/plan/technique.h"
#include "planner/structure/kernel_structure.h"

namespace stitch {

// Barriers of all blocks inside of a kernel.
enum class GridBarriers : uint8_t {
  kNever,
  kWhereFaster,  // than kernels of their own, as far as the estimate says
  kAlways,
};

// A kernel that is asked for.
struct KernelRequest {
  std::vector<AccessNodeId> nodes;    // of the plan's graph, topological
  std::vector<AccessValueId> stored;  // values of these nodes that others need
  int block = 0;                      // a block size that is given; 0: free
  bool may_wait = true;               // blocks may wait for each other
  bool in_shared = false;             // all passes through shared memory (shared_kernel.h)
  bool may_be_in_shared = true;       // that may be tried
  bool may_sweep = true;              // blocks may sweep over rows (row_sweep.h)
  bool may_cluster = true;            // the blocks of a row may be a cluster (cluster_split.h)
  GridBarriers grid = GridBarriers::kWhereFaster;
  Techniques techniques;

  // So that the kernel can be packed.
  void forbid_waits() {
    may_cluster = false;
    forbid_grid_waits();
  }
  void forbid_grid_waits() {
    may_wait = false;
    may_sweep = false;
    grid = GridBarriers::kNever;
  }
};

// The request as several kernels, in launch order.
struct KernelCut {
  std::vector<KernelRequest> pieces;
  std::string reason;  // one sentence
};

// Level by level: the results of a level's reduces and its stores go through memory, all else is
// computed again by the levels that need it.
KernelCut cut_by_levels(const KernelNodes& nodes, const KernelStructure& structure,
                        const KernelRequest& request);

// Clusters of one level that have nothing in common.
KernelCut cut_by_clusters(const KernelNodes& nodes, const KernelStructure& structure,
                          const KernelRequest& request);

}  // namespace stitch
