#include "planner/stage/stage_builder.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "planner/stage/instruction_count.h"
#include "planner/stage/mapping_choice.h"
#include "planner/stage/reduction_slots.h"
#include "planner/stage/stage_groups.h"

namespace stitch {
namespace {

constexpr int64_t kVectorBytes = 16;
// What a thread needs besides the rows that it keeps (the exemplars: 15 to 26).
constexpr int kRegistersBesideRows = 24;
// Longer loops over columns are not unrolled.
constexpr int64_t kMostUnrolledElements = 64;

class StageBuilder {
 public:
  StageBuilder(KernelNodes& nodes, const KernelStructure& structure, const Cluster& cluster,
               const StageRequest& request)
      : nodes_(nodes),
        cluster_(cluster),
        request_(request),
        geometry_(make_geometry(nodes, structure, cluster, request)),
        grouper_(nodes, structure, cluster, geometry_) {
    for (const AccessValueId value : request.scratch) grouper_.add_available(value);
    if (!request.exchanged.empty()) grouper_.set_exchange(request.block_axes, request.exchanged);
    grouper_.set_merges_dominants(request.techniques.has(Technique::kDominantMerging));
  }

  BuiltStage run() {
    groups_ = grouper_.find();
    choose_places();
    grouper_.keep(groups_);
    was_kept_ = true;
    settle_distant_reads();
    const int64_t kept_bytes = choose_exchange();
    fill_mapping();
    for (const StageGroup& group : groups_.groups) add_group(group);
    place_values();
    built_.shared_bytes = assign_slots(nodes_.graph(), built_.stage, kept_bytes);
    built_.block = numbers_.block();
    built_.busy_share = busy_share();
    const bool nothing_kept = groups_.kept.empty() && swept_sums() == 0;
    const int kept = kept_in_shared_ || nothing_kept ? 0 : numbers_.row_elements;
    built_.fits = swept_sums() == 0 || (!kept_in_shared_ && kept <= kMostRowElements);
    built_.registers = std::min(kept + kRegistersBesideRows, 255);
    return std::move(built_);
  }

 private:
  static StageGeometry make_geometry(KernelNodes& nodes, const KernelStructure& structure,
                                     const Cluster& cluster, const StageRequest& request) {
    StageGeometry geometry = find_geometry(nodes, structure, cluster);
    std::erase_if(geometry.rows, [&](AtomId atom) { return contains(request.block_axes, atom); });
    if (request.like != nullptr) {
      geometry.rows = request.like->rows;
      geometry.lanes_along_rows = request.like->lanes_along_rows;
    }
    return geometry;
  }

  MappingProblem problem() {
    MappingProblem problem;
    IndexPool& pool = nodes_.pool();
    problem.rows = point_count(pool, geometry_.rows);
    problem.blocks_beside = point_count(pool, request_.block_axes);
    for (const StageGroup& group : groups_.groups) {
      problem.columns = std::max(problem.columns, point_count(pool, group.columns));
    }
    problem.element_bytes = geometry_.largest_element;
    problem.lanes_along_rows = geometry_.lanes_along_rows;
    problem.has_reduce = cluster_.has_reduce;
    problem.live_arrays = groups_.live_arrays + swept_sums();
    problem.block = request_.block;
    // Blocks that share a row are few.
    problem.large_blocks = request_.large_blocks || !request_.exchanged.empty();
    problem.adaptive = request_.techniques.has(Technique::kAdaptiveMapping);
    const int64_t widest = std::max<int64_t>(kVectorBytes / geometry_.largest_element, 1);
    if (geometry_.main.linear.valid()) {
      if (geometry_.lanes_along_rows && !geometry_.rows.empty()) {
        problem.row_vector =
            vector_width(nodes_.graph(), geometry_.main.linear, geometry_.rows.back(), widest);
      } else if (const StageGroup* group = widest_group()) {
        problem.column_vector = whole_vector(
            vector_width(nodes_.graph(), geometry_.main.linear, group->columns.back(), widest));
      }
    }
    return problem;
  }

  // No guard of the stage may divide a vector.
  int64_t whole_vector(int64_t vector) const {
    for (const Guard& guard : request_.guards) {
      while (guard.low % vector != 0 || guard.high % vector != 0) vector /= 2;
    }
    return vector;
  }

  const StageGroup* widest_group() const {
    const StageGroup* widest = nullptr;
    int64_t most = 0;
    for (const StageGroup& group : groups_.groups) {
      const int64_t points = point_count(nodes_.pool(), group.columns);
      if (group.columns.empty() || points <= most) continue;
      widest = &group;
      most = points;
    }
    return widest;
  }

  // Registers first, then shared memory (one row per block), else the row is read again.
  void choose_places() {
    MappingProblem wanted = problem();
    if (request_.like != nullptr) {
      const StageMapping& like = *request_.like;
      numbers_ = {like.threads_per_row,
                  like.row_threads,
                  like.rows_per_thread,
                  1,
                  like.passes,
                  like.grid_x,
                  0};
      forget_kept();
      return;
    }
    numbers_ = choose_mapping(wanted, *request_.device);
    set_passes();
    if (groups_.kept.empty() || numbers_.row_elements <= kMostRowElements) return;
    if (!wanted.lanes_along_rows && !request_.all_rows && request_.most_blocks == 0 &&
        kept_shared_bytes() + kSlotReserve <= request_.device->shared_bytes_per_block) {
      kept_in_shared_ = true;
      wanted.live_arrays = 0;
      wanted.block = request_.block != 0 ? request_.block : kWholeRowBlock;
      numbers_ = choose_mapping(wanted, *request_.device);
      numbers_.threads_per_row = wanted.block;
      numbers_.row_threads = 1;
      numbers_.rows_per_thread = 1;
      numbers_.grid_x = wanted.rows;
      return;
    }
    forget_kept();
    wanted.live_arrays = swept_sums();
    numbers_ = choose_mapping(wanted, *request_.device);
    set_passes();
    const bool one_row = wanted.lanes_along_rows || numbers_.rows_per_thread == 1;
    if (one_row) grouper_.follow(groups_);
  }

  // A row shorter than its threads leaves the others without a load to have in flight.
  double busy_share() const {
    const StageGroup* const widest = widest_group();
    if (geometry_.lanes_along_rows || widest == nullptr) return 1;
    const int64_t vectors =
        (point_count(nodes_.pool(), widest->columns) + numbers_.vector - 1) / numbers_.vector;
    return std::min(1.0, static_cast<double>(vectors) / numbers_.threads_per_row);
  }

  // Tiles of rows that a block does one after another.
  void set_passes() {
    int64_t most = request_.all_rows ? 1 : numbers_.grid_x;
    if (request_.most_blocks > 0) {
      const int64_t beside = point_count(nodes_.pool(), request_.block_axes);
      most = std::min(most, std::max<int64_t>(request_.most_blocks / beside, 1));
    }
    numbers_.passes = (numbers_.grid_x + most - 1) / most;
    numbers_.grid_x = most;
  }

  // Sums over the rows of a sweep, one per column: they live through all passes.
  int swept_sums() const {
    int sums = 0;
    for (const StageGroup& group : groups_.groups) {
      for (const StageRoot& root : group.roots) {
        if (root.kind == RootKind::kReduceRows) ++sums;
      }
    }
    return sums;
  }

  void forget_kept() {
    groups_.kept.clear();
    groups_.live_arrays = 0;
  }

  int64_t kept_element_bytes(const KeptValue& kept) const {
    const AccessGraph& graph = nodes_.graph();
    if (kept.value.valid()) return size_bytes(compute_type(graph.value(kept.value).dtype));
    const Read& read = graph.node(kept.reader).operands[kept.operand];
    return size_bytes(compute_type(graph.value(read.pieces.front().source).dtype));
  }

  bool needs_shared(const KeptValue& kept) const {
    return kept_in_shared_ || kept.first_exchange != 0;
  }

  // Reads at constant distances along the columns: threads of a row whose steps divide the
  // distances have those elements themselves, where half of the threads do. Else threads exchange
  // them.
  void settle_distant_reads() {
    int64_t period = 0;
    bool own_mapping = !kept_in_shared_ && request_.like == nullptr && !geometry_.lanes_along_rows;
    for (const KeptValue& kept : groups_.kept) {
      if (kept.first_distant == 0) continue;
      period = std::gcd(period, kept.distance);
      const StageGroup& group = groups_.groups[kept.first_group];
      own_mapping = own_mapping && !kept.foreign && group.columns == widest_group()->columns;
    }
    if (period == 0) return;
    if (own_mapping) {
      MappingProblem wanted = problem();
      wanted.column_period = period;
      const MappingNumbers numbers = choose_mapping(wanted, *request_.device);
      const int64_t step = static_cast<int64_t>(numbers.threads_per_row) * numbers.vector;
      if (period % step == 0 && numbers.threads_per_row * 2 >= numbers_.threads_per_row &&
          numbers.row_elements <= kMostRowElements) {
        numbers_ = numbers;
        set_passes();
        return;
      }
    }
    for (KeptValue& kept : groups_.kept) {
      if (kept.first_distant == 0) continue;
      kept.first_exchange = kept.first_exchange == 0
                                ? kept.first_distant
                                : std::min(kept.first_exchange, kept.first_distant);
    }
  }

  // Values that other threads read go to shared memory as well, where it holds the block's rows.
  // Returns the bytes used.
  int64_t choose_exchange() {
    const bool exchanges = std::any_of(groups_.kept.begin(), groups_.kept.end(),
                                       [&](const KeptValue& kept) { return needs_shared(kept); });
    if (!exchanges) return 0;
    const int64_t limit = kept_in_shared_ ? request_.device->shared_bytes_per_block
                                          : request_.device->shared_bytes_per_sm / kExchangeBlocks;
    int64_t rows = static_cast<int64_t>(numbers_.row_threads) * numbers_.rows_per_thread;
    int64_t bytes = kept_shared_bytes() * rows;
    while (bytes + kSlotReserve > limit && numbers_.rows_per_thread > 1 &&
           request_.like == nullptr && !geometry_.lanes_along_rows) {
      numbers_.rows_per_thread /= 2;
      numbers_.row_elements /= 2;
      rows /= 2;
      bytes /= 2;
      numbers_.grid_x = (point_count(nodes_.pool(), geometry_.rows) + rows - 1) / rows;
      set_passes();
    }
    if (!geometry_.lanes_along_rows && bytes + kSlotReserve <= limit) return bytes;
    grouper_.compute_moved_again(groups_);
    return kept_in_shared_ ? kept_shared_bytes() * rows : 0;
  }

  // Per row of the block. Each kept row has its own stretch; rows that never live together share
  // one, unless other threads read them.
  int64_t kept_shared_bytes() {
    kept_offsets_.assign(groups_.kept.size(), 0);
    const StageGroup* group = widest_group();
    if (group == nullptr) return 0;
    const int64_t columns = point_count(nodes_.pool(), group->columns);
    std::vector<size_t> free_from;  // per stretch: the group after which it is free
    int64_t widest = 4;
    for (const KeptValue& kept : groups_.kept) widest = std::max(widest, kept_element_bytes(kept));
    const int64_t stretch = (columns * widest + kVectorBytes - 1) / kVectorBytes * kVectorBytes;
    row_stride_bytes_ = 0;
    for (size_t i = 0; i < groups_.kept.size(); ++i) {
      // Before keep() no exchange is known: then the question is whether all rows fit.
      if (groups_.kept[i].value.valid() && was_kept_ && !needs_shared(groups_.kept[i])) continue;
      size_t lane = groups_.kept[i].first_exchange != 0 ? free_from.size() : 0;
      while (lane < free_from.size() && free_from[lane] > groups_.kept[i].first_group) ++lane;
      if (lane == free_from.size()) free_from.push_back(0);
      free_from[lane] =
          groups_.kept[i].first_exchange != 0 ? groups_.groups.size() : groups_.kept[i].last_group;
      kept_offsets_[i] = static_cast<int64_t>(lane) * stretch;
    }
    row_stride_bytes_ = static_cast<int64_t>(free_from.size()) * stretch;
    return row_stride_bytes_;
  }

  void fill_mapping() {
    StageMapping& mapping = built_.stage.mapping;
    mapping.kind = !cluster_.has_reduce && geometry_.lanes_along_rows ? MappingKind::kLoop
                   : geometry_.lanes_along_rows                       ? MappingKind::kColumn
                                                                      : MappingKind::kRow;
    built_.stage.guards = request_.guards;
    mapping.block_axes = request_.block_axes;
    mapping.grid_y = point_count(nodes_.pool(), request_.block_axes);
    mapping.rows = geometry_.rows;
    mapping.lanes_along_rows = geometry_.lanes_along_rows;
    mapping.threads_per_row = numbers_.threads_per_row;
    mapping.row_threads = numbers_.row_threads;
    mapping.rows_per_thread = numbers_.rows_per_thread;
    mapping.passes = numbers_.passes;
    mapping.grid_x = numbers_.grid_x;
  }

  void add_group(const StageGroup& from) {
    Group group;
    group.mapping.columns = from.columns;
    if (!from.columns.empty()) {
      group.mapping.threads = numbers_.threads_per_row;
      group.mapping.vector = group_vector(from);
      const int64_t steps =
          (point_count(nodes_.pool(), from.columns) - 1) /
              (static_cast<int64_t>(group.mapping.threads) * group.mapping.vector) +
          1;
      const bool sweeps = std::any_of(from.roots.begin(), from.roots.end(), [](const auto& root) {
        return root.kind == RootKind::kReduceRows;
      });
      const bool keeps = sweeps || (!kept_in_shared_ && !groups_.kept.empty());
      group.mapping.unrolled = keeps || steps * group.mapping.vector <= kMostUnrolledElements;
    }
    if (from.once) {
      for (const AtomId atom : request_.block_axes) {
        group.guards.push_back({nodes_.pool().of(atom), 0, 1});
      }
    }
    std::set<AccessNodeId> in_group;
    note_exchange(from);
    for (const StageRoot& root : from.roots) {
      Root to;
      to.kind = root.kind;
      to.value = root.value;
      to.cascade = root.cascade;
      if (root.kind == RootKind::kStore) {
        to.buffer = request_.buffers->at(root.value);
        to.index = nodes_.index_in_original(root.value);
      } else {
        in_group.insert(root.node);
      }
      for (const TracedNode& traced : root.trace.nodes) in_group.insert(traced.node);
      group.roots.push_back(std::move(to));
    }
    for (const AccessNodeId node : nodes_.nodes()) {
      if (in_group.count(node) != 0) group.nodes.push_back(node);
    }
    count_traffic(group, from);
    built_.reduce_depth = std::max(built_.reduce_depth, from.depth);
    built_.stage.groups.push_back(std::move(group));
  }

  // The blocks of a row meet before the first group that reads what others of them have exchanged.
  void note_exchange(const StageGroup& group) {
    const bool waits = std::any_of(group.roots.begin(), group.roots.end(), [&](const auto& root) {
      return std::any_of(
          root.trace.placed.begin(), root.trace.placed.end(), [&](const TracedRead& read) {
            return unmet_.count(read.value) != 0 && !is_own_index(nodes_, read.value, read.index);
          });
    });
    if (waits) {
      built_.exchanges.push_back(built_.stage.groups.size());
      unmet_.clear();
    }
    for (const StageRoot& root : group.roots) {
      const std::vector<AccessValueId>& exchanged = request_.exchanged;
      if (std::find(exchanged.begin(), exchanged.end(), root.value) != exchanged.end()) {
        unmet_.insert(root.value);
      }
    }
  }

  void count_traffic(const Group& group, const StageGroup& from) {
    for (const StageRoot& root : from.roots) {
      request_.traffic->add_loads(built_.stage, group, root.trace);
      if (root.kind == RootKind::kStore) {
        request_.traffic->add_store(built_.stage, group, root.value);
      }
    }
    request_.traffic->end_group();
    std::vector<const Trace*> traces;
    for (const StageRoot& root : from.roots) traces.push_back(&root.trace);
    built_.instructions +=
        count_instructions(nodes_, *request_.device, built_.stage, group, traces);
  }

  // Arrays are read at the columns at which they were written: one vector for equal columns.
  int group_vector(const StageGroup& group) {
    if (geometry_.lanes_along_rows) return 1;
    const StageGroup* widest = widest_group();
    if (group.columns == widest->columns) return numbers_.vector;
    int64_t vector = kVectorBytes / 4;
    while (vector > 1 && nodes_.pool().atom(group.columns.back()).extent % vector != 0) vector /= 2;
    return static_cast<int>(vector);
  }

  void place_values() {
    for (const StageGroup& group : groups_.groups) {
      for (const StageRoot& root : group.roots) {
        if (root.kind == RootKind::kReduceRows)
          built_.places[root.value];  // scratch, by the kernel
        if (root.kind != RootKind::kReduce && !grouper_.is_row_value(root.value)) continue;
        if (root.kind == RootKind::kStore) continue;
        built_.places[root.value] = {Place()};
      }
    }
    for (size_t i = 0; i < groups_.kept.size(); ++i) {
      const KeptValue& kept = groups_.kept[i];
      std::vector<Place>& places = built_.places[kept.value];
      if (!kept_in_shared_ && !kept.foreign) {
        Place array;
        array.kind = PlaceKind::kRegisterArray;
        places.push_back(array);
      }
      if (needs_shared(kept)) {
        Place place;
        place.kind = PlaceKind::kShared;
        place.offset = kept_offsets_[i];
        place.axes = groups_.groups[kept.first_group].columns;
        place.strides.assign(place.axes.size(), 1);
        for (size_t d = place.axes.size(); d-- > 1;) {
          place.strides[d - 1] = place.strides[d] * nodes_.pool().atom(place.axes[d]).extent;
        }
        if (numbers_.row_threads * numbers_.rows_per_thread > 1) {
          place.row_stride = row_stride_bytes_ / kept_element_bytes(kept);
        }
        places.push_back(std::move(place));
      }
      if (kept.first_exchange != 0) built_.stage.groups[kept.first_exchange].block_barrier = true;
    }
  }

  // Room that reductions need beside kept rows: two slots of a warp's results each.
  static constexpr int64_t kSlotReserve = 2048;
  static constexpr int kWholeRowBlock = 1024;
  // Rows that threads exchange leave room for so many blocks on a multiprocessor.
  static constexpr int64_t kExchangeBlocks = 4;

  KernelNodes& nodes_;
  const Cluster& cluster_;
  const StageRequest& request_;
  const StageGeometry geometry_;
  StageGrouper grouper_;
  StageGroups groups_;
  MappingNumbers numbers_;
  bool kept_in_shared_ = false;
  bool was_kept_ = false;
  std::vector<int64_t> kept_offsets_;
  int64_t row_stride_bytes_ = 0;
  std::set<AccessValueId> unmet_;  // exchanged since the blocks of a row last met
  BuiltStage built_;
};

}  // namespace

BuiltStage build_stage(KernelNodes& nodes, const KernelStructure& structure, const Cluster& cluster,
                       const StageRequest& request) {
  return StageBuilder(nodes, structure, cluster, request).run();
}

}  // namespace stitch
