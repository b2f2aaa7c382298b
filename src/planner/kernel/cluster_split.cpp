#include "planner/kernel/cluster_split.h"

#include <algorithm>

#include "planner/stage/mapping_choice.h"
#include "planner/stage/stage_geometry.h"

namespace stitch {
namespace {

// What a block of a cluster should have of the row at least: two vectors for each of 256 threads.
constexpr int64_t kLeastBytesPerBlock = 8 << 10;
// Rows that keep so many multiprocessors busy need no further blocks.
constexpr double kBusyShare = 0.75;
constexpr int64_t kLargestBlock = 1024;
// Shared memory that is not for kept rows.
constexpr int64_t kBesideRows = 4 << 10;

// The reductions of the cluster, or none where they run over different columns.
std::vector<AccessNodeId> reduces_of(const KernelNodes& nodes, const KernelStructure& structure) {
  std::vector<AccessNodeId> found;
  for (const StructureRoot& root : structure.roots) {
    if (root.kind != RootKind::kReduce) continue;
    const AccessNode& node = nodes.graph().node(root.node);
    if (!found.empty() && nodes.graph().node(found.front()).reduced != node.reduced) return {};
    found.push_back(root.node);
  }
  return found;
}

// Blocks write words of four and eight bytes into each other's memory.
bool can_be_exchanged(const KernelNodes& nodes, AccessNodeId reduce) {
  const AccessValueId result = nodes.graph().node(reduce).results[0];
  return size_bytes(compute_type(nodes.graph().value(result).dtype)) >= 4;
}

}  // namespace

std::vector<int64_t> cluster_sizes(KernelNodes& nodes, const KernelStructure& structure,
                                   const DeviceModel& device) {
  if (device.cluster_blocks < 2 || structure.clusters.size() != 1) return {};
  const Cluster& cluster = structure.clusters.front();
  const std::vector<AccessNodeId> reduces = reduces_of(nodes, structure);
  if (reduces.empty() || !std::all_of(reduces.begin(), reduces.end(), [&](AccessNodeId reduce) {
        return can_be_exchanged(nodes, reduce);
      })) {
    return {};
  }
  const int64_t rows = point_count(nodes.pool(), cluster.rows);
  const int64_t columns = point_count(nodes.pool(), nodes.graph().node(reduces.front()).reduced);
  if (columns * 8 < 2 * kLeastBytesPerBlock) return {};  // most rows: no need to look closer
  const StageGeometry geometry = find_geometry(nodes, structure, cluster);
  if (geometry.lanes_along_rows) return {};
  const int64_t most = std::min<int64_t>(device.cluster_blocks,
                                         columns * geometry.largest_element / kLeastBytesPerBlock);
  const int64_t on_chip =
      std::max(kMostRowElements * kLargestBlock,
               (device.shared_bytes_per_block - kBesideRows) / int64_t{sizeof(float)});
  const auto is_enough = [&](int64_t size) {
    return static_cast<double>(rows * size) >= kBusyShare * device.sm_count &&
           columns <= on_chip * size;
  };
  int64_t size = 1;
  while (!is_enough(size) && 2 * size <= most) size *= 2;
  // The double too, where a row may have to be kept in two forms.
  std::vector<int64_t> sizes;
  if (size > 1) sizes.push_back(size);
  if (2 * size <= most && 2 * columns > on_chip * size) sizes.push_back(2 * size);
  return sizes;
}

}  // namespace stitch
