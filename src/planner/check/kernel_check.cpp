#include "planner/check/kernel_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "graph/hash.h"
#include "planner/plan/plan_buffers.h"
#include "planner/plan/step_distance.h"
#include "planner/structure/cascade.h"
#include "planner/structure/kernel_structure.h"

namespace stitch {
namespace {

constexpr int64_t kMostGridY = 65535;
constexpr int64_t kMostGridX = 2147483647;
constexpr int kWarp = 32;
constexpr int kMostThreads = 1024;

bool same_columns(const GroupMapping& a, const GroupMapping& b) {
  return a.columns == b.columns && a.threads == b.threads && a.vector == b.vector &&
         a.unrolled == b.unrolled;
}

bool same_rows(const Stage& a, const Stage& b) {
  return a.mapping.block_axes == b.mapping.block_axes && a.mapping.rows == b.mapping.rows &&
         a.mapping.lanes_along_rows == b.mapping.lanes_along_rows &&
         a.mapping.threads_per_row == b.mapping.threads_per_row &&
         a.mapping.row_threads == b.mapping.row_threads &&
         a.mapping.rows_per_thread == b.mapping.rows_per_thread &&
         a.mapping.passes == b.mapping.passes && a.mapping.grid_x == b.mapping.grid_x;
}

// A barrier stands between two groups of one stage.
bool barrier_between(const Stage& stage, size_t writer, size_t reader) {
  for (size_t g = writer + 1; g <= reader; ++g) {
    if (stage.groups[g].block_barrier) return true;
  }
  return false;
}

}  // namespace

KernelChecker::KernelChecker(const Plan& plan)
    : plan_(plan), graph_(plan.graph), device_(find_device(plan.device, plan.architecture)) {
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    buffers_.emplace(plan.buffers[b].value, BufferId(b));
  }
}

void KernelChecker::check(const Kernel& kernel, std::vector<std::string>& problems) {
  kernel_ = &kernel;
  problems_ = &problems;
  own_nodes_.clear();
  placed_.clear();
  for (const Part& part : kernel.parts) {
    for (const Stage& stage : part.stages) {
      for (const Group& group : stage.groups) {
        own_nodes_.insert(group.nodes.begin(), group.nodes.end());
      }
    }
  }
  check_limits();
  for (const Part& part : kernel.parts) {
    for (const Stage& stage : part.stages) check_stage(stage);
  }
  for (const Kernel& twin : kernel.twin) check(twin, problems);
}

void KernelChecker::check_limits() {
  if (kernel_->block % kWarp != 0 || kernel_->block < kWarp || kernel_->block > kMostThreads) {
    report(fmt::format("a block of {} threads", kernel_->block));
  }
  if (kernel_->shared_bytes > device_.shared_bytes_per_block) {
    report(fmt::format("{} bytes of shared memory, {} has {}", kernel_->shared_bytes, device_.name,
                       device_.shared_bytes_per_block));
  }
  int64_t blocks = 0;
  for (const Part& part : kernel_->parts) {
    blocks += part.blocks;
    for (const Stage& stage : part.stages) {
      const StageMapping& m = stage.mapping;
      if (m.grid_x * m.grid_y > part.blocks) report("a stage has more blocks than its part");
      if (m.grid_y > kMostGridY) report(fmt::format("{} blocks along y", m.grid_y));
      if (m.grid_x > kMostGridX) report(fmt::format("{} blocks along x", m.grid_x));
      const bool tiled = m.kind == MappingKind::kContraction;
      if (!tiled && m.threads_per_row * m.row_threads != kernel_->block) {
        report("the threads of a stage are not those of the block");
      }
      if (m.grid_y != point_count(graph_.pool, m.block_axes)) {
        report("grid_y is not the product of the block axes");
      }
    }
  }
  if (blocks > kMostGridX) report(fmt::format("{} blocks", blocks));
  if (kernel_->cluster > 1) check_cluster();
  if (kernel_->cooperative) {
    const int resident = resident_blocks(
        device_, {kernel_->block, kernel_->estimate.registers, kernel_->shared_bytes});
    if (blocks > static_cast<int64_t>(resident) * device_.sm_count) {
      report(fmt::format("{} blocks wait for each other, {} are resident", blocks,
                         resident * device_.sm_count));
    }
  }
}

// The blocks that share rows are those of a cluster, all of them, and none comes to an exchange a
// second time: what it writes into the others' memory has one round.
void KernelChecker::check_cluster() {
  if (kernel_->cluster > device_.cluster_blocks) {
    report(fmt::format("clusters of {} blocks, {} has {} at most", kernel_->cluster, device_.name,
                       device_.cluster_blocks));
  }
  if (kernel_->parts.size() != 1 || kernel_->cooperative) {
    report("a kernel in clusters is packed or meets at other barriers");
    return;
  }
  const std::vector<Stage>& stages = kernel_->parts.front().stages;
  for (const Stage& stage : stages) {
    if (stage.mapping.grid_y != kernel_->cluster || stage.mapping.passes != 1 ||
        !same_rows(stage, stages.front())) {
      report("the blocks of a cluster do not share rows");
    }
    if (&stage != &stages.front() && (stage.before != Separation::kClusterBarrier ||
                                      stage.split_axes != stage.mapping.block_axes)) {
      report("the blocks of a cluster do not meet before a stage");
    }
  }
}

void KernelChecker::check_stage(const Stage& stage) {
  stage_ = &stage;
  for (size_t g = 0; g < stage.groups.size(); ++g) {
    const Group& group = stage.groups[g];
    group_ = &group;
    group_number_ = g;
    for (const Root& root : group.roots) check_root(stage, group, root);
  }
}

void KernelChecker::check_root(const Stage& stage, const Group& group, const Root& root) {
  check_points(stage, group, root);
  seen_.clear();
  const AccessNodeId producer = graph_.value(root.value).producer;
  std::vector<ExprId> own = own_index(graph_, root.value);
  switch (root.kind) {
    case RootKind::kReduce:
    case RootKind::kReduceRows:
    case RootKind::kPlace:
    case RootKind::kContract:
      if (own_nodes_.count(producer) == 0) {
        report(fmt::format("{} is computed by no node of the kernel", value_name(root.value)));
        return;
      }
      walk_node(producer, nullptr);
      break;
    case RootKind::kStore:
      if (!root.buffer.valid()) report(fmt::format("{} is stored nowhere", value_name(root.value)));
      walk_value(root.value, own);
      break;
  }
  if (root.kind == RootKind::kStore) return;
  check_cascade(group, root);
  const auto places = kernel_->places.find(root.value);
  if (places == kernel_->places.end()) {
    report(fmt::format("{} is computed and has no place", value_name(root.value)));
    return;
  }
  for (const Place& place : places->second) {
    if (place.kind == PlaceKind::kCluster &&
        (kernel_->cluster == 1 || root.kind != RootKind::kReduce)) {
      report(fmt::format("{} is written to a cluster that there is not", value_name(root.value)));
    }
    placed_[root.value].push_back({&place, &stage, &group, group_number_});
  }
}

// The points of a root are those of its group: nothing is computed at an unknown index.
void KernelChecker::check_points(const Stage& stage, const Group& group, const Root& root) {
  if (stage.mapping.kind == MappingKind::kContraction) return;
  const AccessNodeId producer = graph_.value(root.value).producer;
  if (!producer.valid()) return;
  const AccessNode& node = graph_.node(producer);
  std::vector<AtomId> points = stage.mapping.block_axes;
  for (const std::vector<AtomId>* list :
       {&stage.mapping.rows, &group.mapping.inner_rows, &group.mapping.columns}) {
    points.insert(points.end(), list->begin(), list->end());
  }
  if (!contains_all(points, node.axes)) {
    report(fmt::format("{} has indices that its group does not", value_name(root.value)));
  }
  if (root.kind == RootKind::kReduceRows) {
    if (!contains_all(stage.mapping.rows, node.reduced) ||
        !contains_all(node.reduced, stage.mapping.rows)) {
      report(fmt::format("{} does not reduce exactly the stage's rows", value_name(root.value)));
    }
    return;
  }
  if (root.kind != RootKind::kReduce) return;
  if (!contains_all(group.mapping.columns, node.reduced) ||
      !contains_all(node.reduced, group.mapping.columns)) {
    report(fmt::format("{} does not reduce exactly the group's columns", value_name(root.value)));
  }
}

// A sum that follows another reduce does so by the algebra of both, and stands behind it.
void KernelChecker::check_cascade(const Group& group, const Root& root) {
  if (root.cascade.rule == CascadeRule::kNone) return;
  const AccessNodeId leader = graph_.value(root.cascade.leader).producer;
  const AccessNodeId follower = graph_.value(root.value).producer;
  if (!leader.valid() || own_nodes_.count(leader) == 0 || root.kind != RootKind::kReduce ||
      !(find_cascade(graph_, follower, leader) == root.cascade)) {
    report(fmt::format("{} cannot follow the reduce that it names", value_name(root.value)));
    return;
  }
  const Root* before = nullptr;
  for (const Root& other : group.roots) {
    if (&other == &root) break;
    if (other.value == root.cascade.leader && other.kind == RootKind::kReduce) before = &other;
    if (root.cascade.rule == CascadeRule::kSquaredDistance && other.cascade == root.cascade) {
      report(fmt::format("{} follows a mean that another sum follows", value_name(root.value)));
    }
  }
  if (before == nullptr || before->cascade.rule != CascadeRule::kNone) {
    report(fmt::format("{} follows a reduce that is not before it", value_name(root.value)));
  }
  if (group.mapping.columns.empty() || !group.mapping.inner_rows.empty() ||
      (!stage_->mapping.lanes_along_rows && stage_->mapping.rows_per_thread > 1)) {
    report(fmt::format("{} follows a reduce in a mapping without steps", value_name(root.value)));
  }
}

void KernelChecker::walk_value(AccessValueId value, const std::vector<ExprId>& index) {
  if (const auto placed = placed_.find(value); placed != placed_.end()) {
    if (is_served(value, placed->second, index)) return;
  }
  const AccessNodeId producer = graph_.value(value).producer;
  if (!producer.valid() || own_nodes_.count(producer) == 0) {
    if (buffers_.count(value) == 0 && !is_literal(graph_, value)) {
      report(fmt::format("{} is read before it is computed", value_name(value)));
    }
    return;
  }
  uint64_t key = producer.index;
  for (const ExprId e : index) key = hash_combine(key, e.index);
  if (!seen_.insert(key).second) return;
  const AccessValue& computed = graph_.value(value);
  IndexPool::AtomMap map;
  for (size_t d = 0; d < computed.dims.size(); ++d) {
    if (computed.dims[d].size() != 1) {
      report(fmt::format("{} has a dim of several atoms", value_name(value)));
      return;
    }
    map.emplace(computed.dims[d].front(), index[d]);
  }
  AccessSubstitution point(graph_, std::move(map));
  walk_node(producer, &point);
}

void KernelChecker::walk_node(AccessNodeId id, AccessSubstitution* point) {
  const AccessNode node = graph_.node(id);
  for (const Read& operand : node.operands) walk_read(operand, point);
  for (const Guard& guard : node.guards) walk_expression(guard.expr, point);
  if (node.expression.valid()) walk_expression(node.expression, point);
}

void KernelChecker::walk_read(const Read& read, AccessSubstitution* point) {
  const Read here = point == nullptr ? read : point->read(read);
  for (const Piece& piece : here.pieces) {
    for (const ExprId e : piece.index) walk_expression(e, nullptr);
    for (const Guard& guard : piece.guards) walk_expression(guard.expr, nullptr);
    walk_value(piece.source, piece.index);
  }
}

void KernelChecker::walk_expression(ExprId expression, AccessSubstitution* point) {
  const ExprId here = point == nullptr ? expression : point->expr(expression);
  for (const ReadId read : graph_.pool.reads_of(here)) {
    const Read nested = graph_.reads[read.index];
    walk_read(nested, nullptr);
  }
}

// Whether the thread that asks has the element in another step of its columns.
bool KernelChecker::is_own_step(AccessValueId value, const std::vector<ExprId>& index) {
  std::vector<AtomId> atoms;
  for (const std::vector<AtomId>& dim : graph_.value(value).dims) {
    if (dim.size() != 1) return false;
    atoms.push_back(dim.front());
  }
  return step_distance(graph_.pool, group_->mapping, atoms, own_index(graph_, value), index)
      .has_value();
}

// Registers serve the thread that wrote them; what no place serves is computed again at its index.
bool KernelChecker::is_served(AccessValueId value, const std::vector<Placing>& placings,
                              const std::vector<ExprId>& index) {
  const bool own = index == own_index(graph_, value);
  for (const Placing& placing : placings) {
    const bool on_chip = placing.place->kind == PlaceKind::kRegister ||
                         placing.place->kind == PlaceKind::kRegisterArray ||
                         placing.place->kind == PlaceKind::kShared ||
                         placing.place->kind == PlaceKind::kCluster;
    // A stage of another mapping has other rows on its threads.
    if (on_chip && placing.stage != stage_ && !same_rows(*placing.stage, *stage_)) continue;
    switch (placing.place->kind) {
      case PlaceKind::kRegister:
      case PlaceKind::kFragment:
        if (own) return true;
        break;
      case PlaceKind::kRegisterArray:
        if (!own && (placing.group == group_ || !is_own_step(value, index))) break;
        if (!same_columns(placing.group->mapping, group_->mapping)) {
          report(fmt::format("{} is read under another mapping", value_name(value)));
        }
        return true;
      case PlaceKind::kShared: {
        const bool same_group = placing.group == group_;
        if (same_group && !own) break;
        const bool same_thread = own && same_columns(placing.group->mapping, group_->mapping);
        if (!rows_are_own(value, placing, index)) {
          report(fmt::format("{} is read at another row", value_name(value)));
        }
        if (!same_thread && !barrier_between(*placing.stage, placing.group_number, group_number_)) {
          report(fmt::format("{} is read without a barrier", value_name(value)));
        }
        return true;
      }
      case PlaceKind::kCluster:
        if (placing.stage == stage_) {
          report(fmt::format("{} is read from the cluster in the stage that writes it",
                             value_name(value)));
        }
        if (!rows_are_own(value, placing, index)) {
          report(fmt::format("{} is read at another row", value_name(value)));
        }
        return true;
      case PlaceKind::kScratch:
        if (placing.stage == stage_) {
          report(fmt::format("{} is read from scratch in the stage that writes it",
                             value_name(value)));
        }
        return true;
    }
  }
  const AccessNode& node = graph_.node(graph_.value(value).producer);
  if (is_reduce(node) && !is_inline_reduce(graph_, node)) {
    report(fmt::format("{} is reduced again at another index", value_name(value)));
  }
  return false;
}

bool KernelChecker::rows_are_own(AccessValueId value, const Placing& placing,
                                 const std::vector<ExprId>& index) {
  const std::vector<ExprId> own = own_index(graph_, value);
  const AccessValue& placed = graph_.value(value);
  for (size_t d = 0; d < index.size(); ++d) {
    const AtomId atom = placed.dims[d].front();
    // The cluster has the parts of all of its blocks.
    const bool is_row = contains(placing.stage->mapping.rows, atom) ||
                        (placing.place->kind == PlaceKind::kShared &&
                         contains(placing.stage->mapping.block_axes, atom));
    if (is_row && index[d] != own[d]) return false;
  }
  return true;
}

void KernelChecker::report(const std::string& what) {
  problems_->push_back(fmt::format("kernel {}: {}", kernel_->name, what));
}

std::string KernelChecker::value_name(AccessValueId value) const {
  const std::string& name = graph_.value(value).name;
  return name.empty() ? fmt::format("v{}", value.index) : fmt::format("\"{}\"", name);
}

}  // namespace stitch
