#include "planner/report/requested_bytes.h"

#include <cmath>

#include "planner/report/global_accesses.h"
#include "planner/report/kernel_facts.h"
#include "planner/report/warp_sectors.h"

namespace stitch {
namespace {

constexpr int64_t kSectorBytes = 32;

bool same_threads(const StageMapping& a, const StageMapping& b) {
  return a.kind == b.kind && a.block_axes == b.block_axes && a.rows == b.rows &&
         a.lanes_along_rows == b.lanes_along_rows && a.threads_per_row == b.threads_per_row &&
         a.row_threads == b.row_threads && a.rows_per_thread == b.rows_per_thread &&
         a.passes == b.passes && a.grid_x == b.grid_x && a.grid_y == b.grid_y;
}

class RequestCounter {
 public:
  explicit RequestCounter(const Plan& plan) : plan_(plan), graph_(plan.graph) {
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      if (plan.buffers[b].value.valid()) buffers_.emplace(plan.buffers[b].value, BufferId(b));
    }
  }

  int64_t requested(const Kernel& kernel) {
    double sectors = 0;
    AccessWalk walk(graph_, plan_, kernel, buffers_);
    for (const Part& part : kernel.parts) {
      const Stage* before = nullptr;
      for (const Stage& stage : part.stages) {
        const bool goes_on = before != nullptr && stage.before != Separation::kGridBarrier &&
                             stage.mapping.passes == 1 &&
                             same_threads(before->mapping, stage.mapping);
        walk.begin_stage(!goes_on);
        before = &stage;
        for (const Group& group : stage.groups) sectors += sectors_of(walk, stage, group);
      }
    }
    return std::llround(sectors) * kSectorBytes;
  }

 private:
  double sectors_of(AccessWalk& walk, const Stage& stage, const Group& group) {
    const GroupAccesses accesses = walk.group(stage, group);
    WarpSectors warps(graph_.pool, stage, group, accesses, values_);
    double sectors = 0;
    for (const GlobalAccess& access : accesses.accesses) sectors += warps.sectors(access);
    return sectors;
  }

  const Plan& plan_;
  AccessGraph graph_;  // a copy: coordinates are added to it
  BufferOfValueMap buffers_;
  std::vector<int64_t> values_;
};

}  // namespace

void count_requested_bytes(Plan& plan) {
  RequestCounter counter(plan);
  for (Step& step : plan.steps) {
    Kernel* const kernel = std::get_if<Kernel>(&step);
    if (kernel == nullptr || holds_contraction(*kernel)) continue;
    kernel->bytes.requested = counter.requested(*kernel);
    for (Kernel& twin : kernel->twin) {
      if (!holds_contraction(twin)) twin.bytes.requested = counter.requested(twin);
    }
  }
}

}  // namespace stitch
