#include "planner/stage/kernel_traffic.h"

#include <algorithm>
#include <utility>

#include "planner/access/address.h"
#include "planner/access/read_rewriter.h"
#include "planner/access/value_size.h"
#include "planner/plan/plan_buffers.h"
#include "planner/stage/stage_geometry.h"
#include "planner/structure/kernel_structure.h"

namespace stitch {
namespace {

constexpr int64_t kSectorBytes = 32;
constexpr int64_t kWarp = 32;

// Addresses that an expression can take: no more than its points, no more than its range.
int64_t distinct_elements(const AccessGraph& graph, ExprId linear) {
  const int64_t points = point_count(graph.pool, atoms_of(graph, linear));
  const Range range = graph.pool.range(linear);
  return std::min(points, range.high - range.low + 1);
}

std::vector<AtomId> points_of(const Stage& stage, const Group& group) {
  std::vector<AtomId> points = stage.mapping.block_axes;
  for (const std::vector<AtomId>* list :
       {&stage.mapping.rows, &group.mapping.inner_rows, &group.mapping.columns}) {
    points.insert(points.end(), list->begin(), list->end());
  }
  return points;
}

// The atom along which neighbouring threads differ.
AtomId lane_atom(const Stage& stage, const Group& group) {
  const std::vector<AtomId>& atoms =
      stage.mapping.lanes_along_rows ? stage.mapping.rows : group.mapping.columns;
  return atoms.empty() ? AtomId() : atoms.back();
}

// Lanes side by side: how many, and the bytes from one to the next.
struct Lanes {
  int64_t count = 1;
  int64_t step = 0;
};

// Sectors that a warp of such lanes touches in one access; parts of sectors where neighbouring
// warps use the rest.
double sectors_of(Lanes a, Lanes b, int64_t access_bytes) {
  if (a.step > b.step) std::swap(a, b);
  const auto sector = static_cast<double>(kSectorBytes);
  const int64_t run = a.step == 0 ? access_bytes : (a.count - 1) * a.step + access_bytes;
  const double run_sectors = a.step >= kSectorBytes
                                 ? static_cast<double>(a.count)
                                 : std::max(static_cast<double>(run) / sector, 1.0);
  if (b.step == 0) return run_sectors;
  if (b.step >= kSectorBytes) return run_sectors * static_cast<double>(b.count);
  return std::max(static_cast<double>((b.count - 1) * b.step + run) / sector, 1.0);
}

}  // namespace

int64_t KernelTraffic::Operand::once() const {
  int64_t sum = 0;
  for (const auto& [address, reached] : bytes) sum += reached;
  return std::min(sum, total);
}

// Elements of the box around everything that is read.
int64_t KernelTraffic::Operand::widen(const AccessGraph& graph, const TracedRead& load) {
  const std::vector<int64_t>& extents = graph.value(load.value).extents;
  const bool is_first = box.empty();
  int64_t elements = 1;
  for (size_t d = 0; d < extents.size(); ++d) {
    const Range range = graph.pool.range(load.index[d]);
    const Range inside = {std::max<int64_t>(range.low, 0), std::min(range.high, extents[d] - 1)};
    if (is_first) box.push_back(inside);
    box[d] = {std::min(box[d].low, inside.low), std::max(box[d].high, inside.high)};
    elements *= std::max<int64_t>(box[d].high - box[d].low + 1, 0);
  }
  return elements;
}

void KernelTraffic::add_loads(const Stage& stage, const Group& group, const Trace& trace) {
  for (const TracedRead& load : trace.loads) {
    if (is_literal(nodes_.graph(), load.value)) continue;
    const Address& address = load.address;
    if (!in_group_[load.value].insert(address.linear).second) continue;
    Operand& operand = operands_[load.value];
    operand.total = operand.widen(nodes_.graph(), load) * address.element_bytes;
    operand.bytes[address.linear] =
        distinct_elements(nodes_.graph(), address.linear) * address.element_bytes;
    requested_ += requested(stage, group, address.linear, address.element_bytes);
  }
}

void KernelTraffic::add_store(const Stage& stage, const Group& group, AccessValueId clone) {
  const Address address = store_address(nodes_, clone);
  // A ragged split has points that do not exist: the original's elements count.
  stored_ += element_count(nodes_.graph().value(nodes_.original_of(clone))) * address.element_bytes;
  requested_ += requested(stage, group, address.linear, address.element_bytes);
}

void KernelTraffic::end_group() {
  for (const auto& [value, addresses] : in_group_) {
    Operand& operand = operands_[value];
    int64_t loaded = 0;
    for (const ExprId address : addresses) loaded += operand.bytes[address];
    operand.by_groups += std::min(loaded, operand.total);
  }
  in_group_.clear();
}

// Sectors times 32: lanes side by side share sectors, a scattered lane takes a whole one, lanes at
// one address take one together.
int64_t KernelTraffic::requested(const Stage& stage, const Group& group, ExprId linear,
                                 int64_t element_bytes) const {
  const AccessGraph& graph = nodes_.graph();
  std::vector<AtomId> points = points_of(stage, group);
  const std::vector<AtomId> inside = atoms_of(graph, linear);
  const AtomId lane = lane_atom(stage, group);
  if (!group.mapping.inner_rows.empty()) {
    return requested_by_teams(group, point_count(graph.pool, points), linear, element_bytes);
  }
  const bool has_columns = std::any_of(inside.begin(), inside.end(), [&](AtomId atom) {
    return contains(group.mapping.columns, atom);
  });
  if (!has_columns && !stage.mapping.lanes_along_rows) {
    points = stage.mapping.block_axes;
    points.insert(points.end(), stage.mapping.rows.begin(), stage.mapping.rows.end());
    const int64_t warps = std::max<int64_t>(stage.mapping.threads_per_row / kWarp, 1);
    return point_count(graph.pool, points) * warps * kSectorBytes;
  }
  const int64_t count = point_count(graph.pool, points);
  if (!lane.valid() || !contains(inside, lane)) return count / kWarp * kSectorBytes;
  const Coefficient step = coefficient(graph, linear, lane);
  if (step.plain && std::abs(step.value) * element_bytes >= kSectorBytes) {
    return count * kSectorBytes;
  }
  const int64_t stride = step.plain ? std::max<int64_t>(std::abs(step.value), 1) : 1;
  return count * element_bytes * stride;
}

// A team's lanes are neighbours along the columns, teams of a warp along the inner rows.
int64_t KernelTraffic::requested_by_teams(const Group& group, int64_t points, ExprId linear,
                                          int64_t element_bytes) const {
  const GroupMapping& mapping = group.mapping;
  const auto step_of = [&](const std::vector<AtomId>& atoms) -> int64_t {
    if (atoms.empty()) return 0;
    const Coefficient step = coefficient(nodes_.graph(), linear, atoms.back());
    return step.plain ? std::abs(step.value) * element_bytes : element_bytes;
  };
  const int64_t vector = mapping.vector;
  const int64_t column_step = step_of(mapping.columns);
  const int64_t access_bytes =
      column_step == element_bytes ? vector * element_bytes : element_bytes;
  const double sectors =
      sectors_of({mapping.threads, vector * column_step},
                 {kWarp / mapping.threads, step_of(mapping.inner_rows)}, access_bytes);
  const double accesses = static_cast<double>(points) / static_cast<double>(kWarp * vector) *
                          (access_bytes == element_bytes ? static_cast<double>(vector) : 1.0);
  return static_cast<int64_t>(accesses * sectors * static_cast<double>(kSectorBytes));
}

std::map<AccessValueId, int64_t> KernelTraffic::read_bytes() const {
  std::map<AccessValueId, int64_t> bytes;
  for (const auto& [value, operand] : operands_) bytes.emplace(value, operand.once());
  return bytes;
}

ByteCounts KernelTraffic::counts() const {
  ByteCounts counts;
  counts.compulsory = stored_;
  int64_t again = 0;
  for (const auto& [value, operand] : operands_) {
    counts.compulsory += operand.once();
    again += std::max<int64_t>(operand.by_groups - operand.once(), 0);
  }
  counts.bytes = counts.compulsory + scratch_ + again;
  counts.requested = std::max(requested_, int64_t{0}) + scratch_;
  return counts;
}

}  // namespace stitch
