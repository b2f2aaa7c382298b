#include "planner/stage/shared_stage.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "planner/access/address.h"
#include "planner/access/read_rewriter.h"
#include "planner/plan/arena.h"
#include "planner/stage/instruction_count.h"
#include "planner/stage/reduction_slots.h"
#include "planner/stage/stage_groups.h"

namespace stitch {
namespace {

constexpr int64_t kWarp = 32;
constexpr int kSmallestBlock = 64;
constexpr int kLargestBlock = 1024;
constexpr int kPointsPerThread = 4;
constexpr int kRegisters = 32;
constexpr int64_t kMostUnrolledSteps = 16;
constexpr int64_t kVectorBytes = 16;
constexpr int kMostArrayElements = 16;  // of the rows that a thread keeps in registers

class SharedStageBuilder {
 public:
  SharedStageBuilder(KernelNodes& nodes, const KernelStructure& structure,
                     const StageRequest& request)
      : nodes_(nodes),
        request_(request),
        geometry_(make_geometry(nodes, structure)),
        grouper_(nodes, structure, structure.clusters.front(), geometry_) {
    grouper_.set_exchange(geometry_.rows, {});
  }

  std::optional<BuiltStage> run() {
    groups_ = grouper_.find();
    grouper_.keep(groups_);
    if (reads_ahead() || widest() < kWarp) return std::nullopt;
    choose_block();
    fill_mapping();
    for (const StageGroup& group : groups_.groups) add_groups(group);
    find_register_arrays();
    place_barriers();
    const int64_t kept = place_values();
    built_.shared_bytes = assign_slots(nodes_.graph(), built_.stage, kept);
    if (built_.shared_bytes > request_.device->shared_bytes_per_block) return std::nullopt;
    built_.registers = kRegisters + array_elements_;
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

  // As many threads as the widest group keeps busy.
  void choose_block() {
    int64_t busy = 1;
    for (const StageGroup& group : groups_.groups) {
      const int64_t points = point_count(nodes_.pool(), group.columns);
      int64_t threads = (points + kPointsPerThread - 1) / kPointsPerThread;
      if (!group.inner_rows.empty()) {
        threads = std::min(threads, kWarp * point_count(nodes_.pool(), group.inner_rows));
      }
      busy = std::max(busy, threads);
    }
    built_.block = kSmallestBlock;
    while (built_.block < kLargestBlock && built_.block < busy) built_.block *= 2;
    if (request_.block != 0) built_.block = request_.block;
  }

  void fill_mapping() {
    StageMapping& mapping = built_.stage.mapping;
    mapping.kind = MappingKind::kRow;
    built_.stage.guards = request_.guards;
    mapping.rows = geometry_.rows;
    mapping.threads_per_row = built_.block;
    mapping.grid_x = std::max<int64_t>(point_count(nodes_.pool(), mapping.rows), 1);
  }

  // Stores make groups of their own, by the order in which they write.
  void add_groups(const StageGroup& from) {
    std::vector<std::pair<Group, std::vector<const StageRoot*>>> groups;
    for (const StageRoot& root : from.roots) {
      Group wanted;
      wanted.mapping = mapping_of(root, from);
      if (from.once) wanted.guards = first_block_only(root);
      const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
        const Group& known = group.first;
        return known.mapping.inner_rows == wanted.mapping.inner_rows &&
               known.mapping.columns == wanted.mapping.columns && known.guards == wanted.guards;
      });
      if (same != groups.end()) {
        same->second.push_back(&root);
        continue;
      }
      groups.emplace_back(std::move(wanted), std::vector<const StageRoot*>{&root});
    }
    for (auto& [group, roots] : groups) finish(std::move(group), roots);
  }

  // Of the blocks that all compute a row, one stores it.
  std::vector<Guard> first_block_only(const StageRoot& root) {
    std::vector<Guard> guards;
    for (const AtomId atom : geometry_.rows) {
      if (contains(nodes_.atoms(root.value), atom)) continue;
      guards.push_back({nodes_.pool().of(atom), 0, 1});
    }
    return guards;
  }

  GroupMapping mapping_of(const StageRoot& root, const StageGroup& group) {
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
    mapping.vector = static_cast<int>(vector_of(group, mapping.columns));
    const int64_t columns = point_count(nodes_.pool(), mapping.columns);
    mapping.threads =
        mapping.inner_rows.empty() ? built_.block : team_threads(mapping, group.columns);
    if (mapping.columns.empty()) mapping.threads = 1;
    while (mapping.vector > 1 && columns % (mapping.vector * mapping.threads) != 0) {
      mapping.vector /= 2;
    }
    const int64_t span = static_cast<int64_t>(mapping.threads) * mapping.vector;
    mapping.unrolled = (columns + span - 1) / span <= kMostUnrolledSteps;
    return mapping;
  }

  // Elements of one access, where all that lies in memory along these columns lies side by side:
  // equal for groups over equal columns, which can hand rows on in registers then.
  int64_t vector_of(const StageGroup& from, const std::vector<AtomId>& columns) {
    if (columns.empty()) return 1;
    const auto [known, is_new] =
        vectors_.try_emplace({from.columns, from.inner_rows, columns.back()});
    if (is_new) known->second = narrowest_vector(from, columns.back());
    return known->second;
  }

  int64_t narrowest_vector(const StageGroup& from, AtomId lane) {
    int64_t vector = 0;
    const auto limit = [&](const Address& address) {
      if (!contains(atoms_of(nodes_.graph(), address.linear), lane)) return;
      const int64_t own =
          vector_width(nodes_.graph(), address.linear, lane, kVectorBytes / address.element_bytes);
      vector = vector == 0 ? own : std::min(vector, own);
    };
    for (const StageGroup& group : groups_.groups) {
      if (group.columns != from.columns || group.inner_rows != from.inner_rows) continue;
      for (const StageRoot& root : group.roots) {
        if (root.kind == RootKind::kStore) limit(store_address(nodes_, root.value));
        for (const TracedRead& load : root.trace.loads) {
          limit(load.address);
        }
      }
    }
    return std::max<int64_t>(vector, 1);
  }

  // The power of two up to a warp with the fewest steps; teams whose lanes stand side by side in
  // memory when that is as good.
  int team_threads(const GroupMapping& mapping, const std::vector<AtomId>& columns) const {
    const int64_t rows = point_count(nodes_.pool(), mapping.inner_rows);
    const int64_t length = point_count(nodes_.pool(), mapping.columns) / mapping.vector;
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
      for (const TracedRead& read : root->trace.placed) {
        reads.insert(read.value);
        if (!is_own_index(nodes_, read.value, read.index)) moved_.insert(read.value);
      }
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
        repeats_of(roots) * idle_share(group.mapping) *
        count_instructions(nodes_, *request_.device, built_.stage, group, traces);
    // One after another, whatever they wait for.
    built_.reduce_depth +=
        std::any_of(group.roots.begin(), group.roots.end(),
                    [](const Root& root) { return root.kind == RootKind::kReduce; });
    reads_.push_back(std::move(reads));
    built_.stage.groups.push_back(std::move(group));
  }

  // Lanes that issue over lanes that compute: a warp issues as a whole.
  double idle_share(const GroupMapping& mapping) const {
    if (!mapping.inner_rows.empty() || mapping.columns.empty()) return 1;
    const int64_t columns = point_count(nodes_.pool(), mapping.columns);
    const int64_t lanes = (columns + kWarp - 1) / kWarp * kWarp;
    return static_cast<double>(lanes) / static_cast<double>(columns);
  }

  // Blocks that compute the group, each for itself.
  double repeats_of(const std::vector<const StageRoot*>& roots) const {
    double repeats = 1;
    for (const AtomId atom : geometry_.rows) {
      const bool is_own = std::any_of(roots.begin(), roots.end(), [&](const StageRoot* root) {
        return contains(nodes_.graph().node(root->node).axes, atom);
      });
      if (!is_own) repeats *= static_cast<double>(nodes_.pool().atom(atom).extent);
    }
    return repeats;
  }

  // Rows that every reader reads where it has written them: at the same columns, by the same
  // thread.
  void find_register_arrays() {
    for (size_t g = 0; g < built_.stage.groups.size(); ++g) {
      const Group& group = built_.stage.groups[g];
      const GroupMapping& mapping = group.mapping;
      if (mapping.columns.empty() || !mapping.inner_rows.empty() || !mapping.unrolled) continue;
      const int64_t span = static_cast<int64_t>(mapping.threads) * mapping.vector;
      const int64_t steps = (point_count(nodes_.pool(), mapping.columns) + span - 1) / span;
      for (const Root& root : group.roots) {
        if (root.kind != RootKind::kPlace || moved_.count(root.value) != 0) continue;
        const auto elements = static_cast<int>(steps * mapping.vector);
        if (array_elements_ + elements > kMostArrayElements || !is_read_alike(g, root.value)) {
          continue;
        }
        arrays_.insert(root.value);
        array_elements_ += elements;
      }
    }
  }

  bool is_read_alike(size_t writer, AccessValueId value) const {
    const GroupMapping& own = built_.stage.groups[writer].mapping;
    for (size_t g = 0; g < built_.stage.groups.size(); ++g) {
      if (g == writer || reads_[g].count(value) == 0) continue;
      const GroupMapping& reader = built_.stage.groups[g].mapping;
      if (g < writer || reader.columns != own.columns || !reader.inner_rows.empty() ||
          reader.threads != own.threads || reader.vector != own.vector || !reader.unrolled) {
        return false;
      }
    }
    return true;
  }

  // Whether threads other than the writer read it: whole rows, and results that are no row's.
  bool is_shared(const Root& root, const Group& group) const {
    switch (root.kind) {
      case RootKind::kReduce:
        return !group.mapping.inner_rows.empty();
      case RootKind::kPlace:
        return !group.mapping.columns.empty() && arrays_.count(root.value) == 0;
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
        if (!row_value || is_shared(root, group)) continue;
        Place place;
        if (arrays_.count(root.value) != 0) place.kind = PlaceKind::kRegisterArray;
        built_.places[root.value] = {std::move(place)};
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
  // By columns, inner rows and the atom along which lanes run.
  std::map<std::tuple<std::vector<AtomId>, std::vector<AtomId>, AtomId>, int64_t> vectors_;
  std::set<AccessValueId> moved_;   // read at another index than their own
  std::set<AccessValueId> arrays_;  // rows in registers
  int array_elements_ = 0;          // of a thread
  std::vector<Left> left_;
  BuiltStage built_;
};

}  // namespace

std::vector<AtomId> common_rows(const KernelNodes& nodes, const KernelStructure& structure,
                                const std::function<bool(const StructureRoot&)>& is_repeated) {
  std::optional<std::vector<AtomId>> rows;
  for (const StructureRoot& root : structure.roots) {
    if (is_repeated && is_repeated(root)) continue;
    const std::vector<AtomId>& kept =
        root.kind == RootKind::kStore ? root.space : nodes.graph().node(root.node).axes;
    if (!rows) rows = kept;
    std::erase_if(*rows, [&](AtomId atom) { return !contains(kept, atom); });
  }
  if (!rows) return {};
  for (const StructureRoot& root : structure.roots) {
    for (const TracedRead& read : root.trace.placed) {
      const std::vector<AtomId>& atoms = nodes.atoms(read.value);
      for (size_t d = 0; d < atoms.size(); ++d) {
        if (read.index[d] != nodes.pool().of(atoms[d])) std::erase(*rows, atoms[d]);
      }
    }
  }
  return *std::move(rows);
}

std::optional<BuiltStage> build_shared_stage(KernelNodes& nodes, const KernelStructure& structure,
                                             const StageRequest& request) {
  return SharedStageBuilder(nodes, structure, request).run();
}

}  // namespace stitch
