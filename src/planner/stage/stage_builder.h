// Builds one stage from a cluster: groups, places, mapping, shared memory.
#pragma once
#include <map>
#include <unordered_map>
#include <vector>

#include "planner/device/device_model.h"
#include "planner/plan/plan.h"
#include "planner/plan/technique.h"
#include "planner/stage/kernel_traffic.h"
#include "planner/structure/kernel_structure.h"

namespace stitch {

struct StageRequest {
  // Where the stored clones go.
  const std::unordered_map<AccessValueId, BufferId>* buffers = nullptr;
  const DeviceModel* device = nullptr;
  KernelTraffic* traffic = nullptr;  // counts the bytes of all stages of the kernel
  int block = 0;                     // given block size; 0: free
  Techniques techniques;

  // Of a stage among several.
  std::vector<AtomId> block_axes;        // row atoms that go to blockIdx.y, outer first
  std::vector<AccessValueId> scratch;    // results of earlier stages
  std::vector<AccessValueId> exchanged;  // results that other blocks of the row read, in this stage
  std::vector<Guard> guards;  // of a ragged split: points outside are skipped, in whole vectors
  bool large_blocks = false;  // see MappingProblem
  const StageMapping* like = nullptr;  // the same rows on the same threads as this mapping
  bool all_rows = false;               // a block does all rows of its block axes, in passes
  int64_t most_blocks = 0;             // further tiles of rows in passes; 0: any number
};

struct BuiltStage {
  Stage stage;
  std::map<AccessValueId, std::vector<Place>> places;
  std::vector<size_t> exchanges;  // groups that read exchanged results
  int block = 0;
  int64_t shared_bytes = 0;
  int registers = 0;        // assumed per thread
  double instructions = 0;  // of single threads
  int reduce_depth = 0;     // reductions that wait for each other
  double busy_share = 1;    // of the block's threads: those that have elements
  bool fits = true;         // registers hold the sums of a sweep
  int64_t blocks() const { return stage.mapping.grid_x * stage.mapping.grid_y; }
};

BuiltStage build_stage(KernelNodes& nodes, const KernelStructure& structure, const Cluster& cluster,
                       const StageRequest& request);

}  // namespace stitch
