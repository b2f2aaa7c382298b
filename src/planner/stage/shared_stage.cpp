#include "planner/stage/shared_stage.h"

#include <algorithm>
#include <set>
#include <utility>

#include "planner/plan/arena.h"
#include "planner/stage/instruction_count.h"
#include "planner/stage/reduction_slots.h"
#include "planner/stage/stage_groups.h"

namespace stitch {
namespace {

constexpr int kWarp = 32;
constexpr int kSmallestBlock = 64;
constexpr int kLargestBlock = 1024;
constexpr int kPointsPerThread = 4;
constexpr int kRegisters = 32;
constexpr int64_t kMostUnrolledSteps = 16;

class SharedStageBuilder {
 public:
  SharedStageBuilder(KernelNodes& nodes, const KernelStructure& structure,
                     const StageRequest& request)
      : nodes_(nodes),
        request_(request),
        geometry_(make_geometry(nodes, structure)),
        grouper_(nodes, structure, structure.clusters.front(), geometry_) {}

  std::optional<BuiltStage> run() {
    groups_ = grouper_.find();
    grouper_.keep(groups_);
    if (reads_ahead() || widest() < kWarp) return std::nullopt;
    choose_block();
    fill_mapping();
    for (const StageGroup& group : groups_.groups) add_groups(group);
    place_barriers();
    const int64_t kept = place_values();
    built_.shared_bytes = assign_slots(nodes_.graph(), built_.stage, kept);
    if (built_.shared_bytes > request_.device->shared_bytes_per_block) return std::nullopt;
    built_.registers = kRegisters;
    return std::move(built_);
  }

 private:
  // What a group leaves in shared memory.
  struct Left {
    AccessValueId value;
    std::vector<AtomId> axes;
    int64_t element_bytes = 4;
    int written = 0;    // barriers that the writer has behind it
    int last_read = 0;  // and the last reader
  };

  static StageGeometry make_geometry(KernelNodes& nodes, const KernelStructure& structure) {
    StageGeometry geometry = find_geometry(nodes, structure, structure.clusters.front());
    geometry.lanes_along_rows = false;
    return geometry;
  }

  // A kept value is computed by the first group that needs it at its own index; one before that
  // which needs it elsewhere finds nothing.
  bool reads_ahead() const {
    for (const KeptValue& kept : groups_.kept) {
      for (size_t g = 0; g < kept.first_group; ++g) {
        for (const StageRoot& root : groups_.groups[g].roots) {
          for (const TracedRead& read : root.trace.placed) {
            if (read.value == kept.value) return true;
          }
        }
      }
    }
    return false;
  }

  int64_t widest() const {
    int64_t points = 1;
    for (const StageGroup& group : groups_.groups) {
      points = std::max(points, point_count(nodes_.pool(), group.columns));
    }
    return points;
  }

  void choose_block() {
    const int64_t points = widest();
    built_.block = kSmallestBlock;
    while (built_.block < kLargestBlock && built_.block * kPointsPerThread < points) {
      built_.block *= 2;
    }
    if (request_.block != 0) built_.block = request_.block;
  }

  void fill_mapping() {
    StageMapping& mapping = built_.stage.mapping;
    mapping.kind = MappingKind::kRow;
    mapping.rows = geometry_.rows;
    mapping.threads_per_row = built_.block;
    mapping.grid_x = std::max<int64_t>(point_count(nodes_.pool(), mapping.rows), 1);
  }

  // Stores make groups of their own, by the order in which they write.
  void add_groups(const StageGroup& from) {
    std::vector<std::pair<Group, std::vector<const StageRoot*>>> groups;
    for (const StageRoot& root : from.roots) {
      const GroupMapping mapping = mapping_of(root, from);
      const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
        return group.first.mapping.inner_rows == mapping.inner_rows &&
               group.first.mapping.columns == mapping.columns;
      });
      if (same != groups.end()) {
        same->second.push_back(&root);
        continue;
      }
      groups.emplace_back();
      groups.back().first.mapping = mapping;
      groups.back().second.push_back(&root);
    }
    for (auto& [group, roots] : groups) finish(std::move(group), roots);
  }

  GroupMapping mapping_of(const StageRoot& root, const StageGroup& group) const {
    GroupMapping mapping;
    if (root.kind == RootKind::kStore) {
      // What it reads lies in shared memory, or is cached: neighbours are those of the store.
      const ExprId linear = store_address(nodes_, root.value).linear;
      mapping.columns = by_falling_step(nodes_.graph(), linear, group.columns);
    } else {
      for (const AtomId atom : group.columns) {
        (contains(group.inner_rows, atom) ? mapping.inner_rows : mapping.columns).push_back(atom);
      }
    }
    mapping.threads =
        mapping.inner_rows.empty() ? built_.block : team_threads(mapping, group.columns);
    if (mapping.columns.empty()) mapping.threads = 1;
    const int64_t steps =
        (point_count(nodes_.pool(), mapping.columns) + mapping.threads - 1) / mapping.threads;
    mapping.unrolled = steps <= kMostUnrolledSteps;
    return mapping;
  }

  // The power of two up to a warp with the fewest steps; teams whose lanes stand side by side in
  // memory when that is as good.
  int team_threads(const GroupMapping& mapping, const std::vector<AtomId>& columns) const {
    const int64_t rows = point_count(nodes_.pool(), mapping.inner_rows);
    const int64_t length = point_count(nodes_.pool(), mapping.columns);
    const bool along_columns = !columns.empty() && contains(mapping.columns, columns.back());
    int best = 1;
    int64_t least = INT64_MAX;
    int shuffles = 0;
    for (int threads = 1; threads <= kWarp; threads *= 2, ++shuffles) {
      const int64_t teams = std::max(built_.block / threads, 1);
      const int64_t rounds = (rows + teams - 1) / teams;
      const int64_t steps = (length + threads - 1) / threads;
      const int64_t cost = rounds * (steps + shuffles);
      if (cost < least || (cost == least && along_columns)) {
        least = cost;
        best = threads;
      }
    }
    return best;
  }

  void finish(Group group, const std::vector<const StageRoot*>& roots) {
    std::set<AccessNodeId> inside;
    std::set<AccessValueId> reads;
    for (const StageRoot* root : roots) {
      Root to;
      to.kind = root->kind;
      to.value = root->value;
      if (root->kind == RootKind::kStore) {
        to.buffer = request_.buffers->at(root->value);
        to.index = nodes_.index_in_original(root->value);
      } else {
        inside.insert(root->node);
      }
      for (const TracedNode& traced : root->trace.nodes) inside.insert(traced.node);
      for (const TracedRead& read : root->trace.placed) reads.insert(read.value);
      request_.traffic->add_loads(built_.stage, group, root->trace);
      if (root->kind == RootKind::kStore) {
        request_.traffic->add_store(built_.stage, group, root->value);
      }
      group.roots.push_back(std::move(to));
    }
    request_.traffic->end_group();
    for (const AccessNodeId node : nodes_.nodes()) {
      if (inside.count(node) != 0) group.nodes.push_back(node);
    }
    std::vector<const Trace*> traces;
    for (const StageRoot* root : roots) traces.push_back(&root->trace);
    built_.instructions +=
        count_instructions(nodes_, *request_.device, built_.stage, group, traces);
    // One after another, whatever they wait for.
    built_.reduce_depth +=
        std::any_of(group.roots.begin(), group.roots.end(),
                    [](const Root& root) { return root.kind == RootKind::kReduce; });
    reads_.push_back(std::move(reads));
    built_.stage.groups.push_back(std::move(group));
  }

  // Whether threads other than the writer read it: whole rows, and results that are no row's.
  bool is_shared(const Root& root, const Group& group) const {
    switch (root.kind) {
      case RootKind::kReduce:
        return !group.mapping.inner_rows.empty();
      case RootKind::kPlace:
        return !group.mapping.columns.empty();
      case RootKind::kReduceRows:
      case RootKind::kStore:
      case RootKind::kContract:
        return false;
    }
    return false;
  }

  void place_barriers() {
    std::set<AccessValueId> since;  // written since the last barrier
    int barriers = 0;
    for (size_t g = 0; g < built_.stage.groups.size(); ++g) {
      Group& group = built_.stage.groups[g];
      const bool waits = std::any_of(reads_[g].begin(), reads_[g].end(),
                                     [&](AccessValueId value) { return since.count(value) != 0; });
      if (waits) {
        group.block_barrier = true;
        ++barriers;
        since.clear();
      }
      for (Left& left : left_) {
        if (reads_[g].count(left.value) != 0) left.last_read = barriers;
      }
      for (const Root& root : group.roots) {
        if (!is_shared(root, group)) continue;
        since.insert(root.value);
        const std::vector<AtomId>& atoms = nodes_.atoms(root.value);
        Left left;
        left.value = root.value;
        for (const AtomId atom : atoms) {
          if (!contains(geometry_.rows, atom)) left.axes.push_back(atom);
        }
        left.element_bytes = size_bytes(compute_type(nodes_.graph().value(root.value).dtype));
        left.written = left.last_read = barriers;
        left_.push_back(std::move(left));
      }
    }
  }

  // Returns the bytes of shared memory.
  int64_t place_values() {
    for (const Group& group : built_.stage.groups) {
      for (const Root& root : group.roots) {
        const bool row_value = root.kind == RootKind::kReduce || root.kind == RootKind::kPlace;
        if (row_value && !is_shared(root, group)) built_.places[root.value] = {Place()};
      }
    }
    std::vector<ArenaRequest> requests;
    for (const Left& left : left_) {
      requests.push_back({point_count(nodes_.pool(), left.axes) * left.element_bytes, left.written,
                          left.last_read});
    }
    const ArenaLayout layout = lay_out_arena(requests);
    for (size_t i = 0; i < left_.size(); ++i) {
      Place place;
      place.kind = PlaceKind::kShared;
      place.offset = layout.offsets[i];
      place.axes = left_[i].axes;
      place.strides.assign(place.axes.size(), 1);
      for (size_t d = place.axes.size(); d-- > 1;) {
        place.strides[d - 1] = place.strides[d] * nodes_.pool().atom(place.axes[d]).extent;
      }
      built_.places[left_[i].value] = {std::move(place)};
    }
    return layout.bytes;
  }

  KernelNodes& nodes_;
  const StageRequest& request_;
  const StageGeometry geometry_;
  StageGrouper grouper_;
  StageGroups groups_;
  std::vector<std::set<AccessValueId>> reads_;  // per group: placed values
  std::vector<Left> left_;
  BuiltStage built_;
};

}  // namespace

std::vector<AtomId> common_rows(const KernelNodes& nodes, const KernelStructure& structure) {
  std::vector<AtomId> rows;
  bool first = true;
  for (const StructureRoot& root : structure.roots) {
    const std::vector<AtomId>& kept =
        root.kind == RootKind::kStore ? root.space : nodes.graph().node(root.node).axes;
    if (first) rows = kept;
    first = false;
    std::erase_if(rows, [&](AtomId atom) { return !contains(kept, atom); });
  }
  for (const StructureRoot& root : structure.roots) {
    for (const TracedRead& read : root.trace.placed) {
      const std::vector<AtomId>& atoms = nodes.atoms(read.value);
      for (size_t d = 0; d < atoms.size(); ++d) {
        if (read.index[d] != nodes.pool().of(atoms[d])) std::erase(rows, atoms[d]);
      }
    }
  }
  return rows;
}

std::optional<BuiltStage> build_shared_stage(KernelNodes& nodes, const KernelStructure& structure,
                                             const StageRequest& request) {
  return SharedStageBuilder(nodes, structure, request).run();
}

}  // namespace stitch
