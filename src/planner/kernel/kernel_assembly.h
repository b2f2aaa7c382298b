// Puts stages together to one kernel: what separates them, what passes through scratch, counters,
// bytes and the estimate.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "planner/device/device_model.h"
#include "planner/kernel/row_sweep.h"
#include "planner/kernel/split_reduction.h"
#include "planner/kernel/turn.h"
#include "planner/plan/plan.h"
#include "planner/plan/plan_buffers.h"
#include "planner/plan/technique.h"
#include "planner/stage/stage_builder.h"

namespace stitch {

struct BuiltKernel {
  Kernel kernel;
  std::map<AccessValueId, int64_t> read_bytes;  // of each operand, what is read at least once
};

// One kernel; each object builds one.
class KernelAssembly {
 public:
  // `stored`: clones that leave the kernel. `block`: a block size that is given; 0: free.
  KernelAssembly(Plan& plan, PlanBuffers& buffers, const DeviceModel& device, KernelNodes& nodes,
                 std::span<const AccessValueId> stored, int block, Techniques techniques);

  // Loads and stores along different axes, through shared memory.
  BuiltKernel turn(const Turn& turn);
  // One set of rows.
  BuiltKernel one_stage(const KernelStructure& structure);
  BuiltKernel one_stage_of_large_blocks(const KernelStructure& structure);
  // Two levels; the block that arrives last does the second: of each tile of rows where a row was
  // split, of the whole grid where none was.
  BuiltKernel with_ticket(const KernelStructure& structure, const RowExchange& exchange);
  // One level whose blocks share rows; all stages have one mapping, each begins where results of
  // other blocks are read.
  BuiltKernel with_row_barriers(const KernelStructure& structure, const RowExchange& exchange);
  // The same where the blocks of a row are a cluster. None where a block has no room for it.
  std::optional<BuiltKernel> with_clusters(const KernelStructure& structure,
                                           const RowExchange& exchange);
  // Sums over rows and over columns. None where registers do not hold the sums.
  std::optional<BuiltKernel> sweep(const KernelStructure& structure, const RowSweep& sweep,
                                   Separation separation);
  // One stage per level, a barrier of all blocks before each. None where they are not all resident.
  std::optional<BuiltKernel> with_grid_barriers(const KernelStructure& structure);

 private:
  StageRequest stage_request();
  BuiltStage build(const KernelStructure& structure, const Cluster& cluster,
                   const StageRequest& request);
  void charge(const BuiltStage& built);
  std::vector<AccessValueId> pass_on(const KernelStructure& structure, int level,
                                     BuiltStage& built);
  void add_scratch(BuiltStage& built, AccessValueId value);
  void add_to_cluster(BuiltStage& built, AccessValueId value, const std::vector<AtomId>& parts);
  void add_ticket(const BuiltStage& first, BuiltStage& last, const std::vector<AtomId>& axes);
  void add_grid_barrier(BuiltStage& last);
  void add_stage(BuiltStage built);
  BuiltKernel finish();
  void collect_sources();
  void note_loads();

  Plan& plan_;
  PlanBuffers& buffers_;
  const DeviceModel& device_;
  KernelNodes& nodes_;
  const std::vector<AccessValueId> stored_;
  const int block_;
  const Techniques techniques_;
  std::unordered_map<AccessValueId, BufferId> stores_;
  KernelTraffic traffic_;
  int64_t charged_bytes_ = 0;
  AtomId stretch_;  // of a sweep
  Kernel kernel_;
  Part part_;
};

}  // namespace stitch
