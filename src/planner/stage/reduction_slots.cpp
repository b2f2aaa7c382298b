#include "planner/stage/reduction_slots.h"

#include <algorithm>

namespace stitch {
namespace {

constexpr int64_t kWarp = 32;
constexpr int64_t kSlotAlignment = 16;

// A value with its index, padded to one 16-byte access.
constexpr int64_t kArgStateBytes = 16;
// Count, mean in two parts and sum of squares.
constexpr int64_t kMomentsBytes = 16;

int64_t aligned(int64_t bytes) {
  return (bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
}

int64_t state_bytes(const Root& root, const AccessGraph& graph) {
  const AccessNode& node = graph.node(graph.value(root.value).producer);
  if (root.cascade.rule == CascadeRule::kSquaredDistance) return kMomentsBytes;
  if (node.kind == AccessKind::kArgReduce) return kArgStateBytes;
  return size_bytes(compute_type(graph.value(node.results.front()).dtype));
}

}  // namespace

int64_t slot_bytes(const Root& root, const AccessGraph& graph, const StageMapping& mapping,
                   const GroupMapping& group) {
  const int64_t rows = mapping.rows_per_thread;
  const int64_t block = static_cast<int64_t>(mapping.threads_per_row) * mapping.row_threads;
  if (mapping.lanes_along_rows) {
    return group.threads > 1 ? block * rows * state_bytes(root, graph) : 0;
  }
  return group.threads > kWarp ? block / kWarp * rows * state_bytes(root, graph) : 0;
}

namespace {

// Where the teams of a block add up what each has summed over its rows, one sum after another and
// behind a barrier, so that all share the stretch. Returns its bytes.
int64_t assign_row_sum_slots(const AccessGraph& graph, Stage& stage, int64_t begin) {
  int64_t most = 0;
  for (Group& group : stage.groups) {
    for (Root& root : group.roots) {
      if (root.kind != RootKind::kReduceRows || stage.mapping.row_threads == 1) continue;
      const int64_t block =
          static_cast<int64_t>(stage.mapping.threads_per_row) * stage.mapping.row_threads;
      root.slot_offset = begin;
      root.slot_bytes = aligned(block * group.mapping.vector * state_bytes(root, graph));
      most = std::max(most, root.slot_bytes);
    }
  }
  return most;
}

}  // namespace

int64_t assign_slots(const AccessGraph& graph, Stage& stage, int64_t start) {
  const int64_t begin = aligned(start);
  const int64_t row_sums = assign_row_sum_slots(graph, stage, begin);
  int64_t area_bytes[2] = {0, 0};
  std::vector<std::pair<Root*, size_t>> slots;
  size_t parity = 0;
  for (Group& group : stage.groups) {
    int64_t used = 0;
    for (Root& root : group.roots) {
      if (root.kind != RootKind::kReduce) continue;
      const int64_t bytes = aligned(slot_bytes(root, graph, stage.mapping, group.mapping));
      if (bytes == 0) continue;
      root.slot_offset = used;
      root.slot_bytes = bytes;
      slots.emplace_back(&root, parity);
      used += bytes;
    }
    if (used == 0) continue;
    area_bytes[parity] = std::max(area_bytes[parity], used);
    parity = 1 - parity;
  }
  for (const auto& [root, area] : slots) {
    root->slot_offset += begin + (area == 0 ? 0 : area_bytes[0]);
  }
  const int64_t bytes = std::max(row_sums, area_bytes[0] + area_bytes[1]);
  return bytes == 0 ? start : begin + bytes;
}

}  // namespace stitch
