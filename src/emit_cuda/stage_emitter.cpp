#include "emit_cuda/stage_emitter.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit_cuda/contraction_emitter.h"
#include "emit_cuda/group_emitter.h"
#include "emit_cuda/index_text.h"
#include "graph/error.h"

namespace stitch {
namespace {

bool same_mapping(const StageMapping& a, const StageMapping& b) {
  return a.kind == b.kind && a.block_axes == b.block_axes && a.rows == b.rows &&
         a.lanes_along_rows == b.lanes_along_rows && a.threads_per_row == b.threads_per_row &&
         a.row_threads == b.row_threads && a.rows_per_thread == b.rows_per_thread &&
         a.passes == b.passes && a.grid_x == b.grid_x && a.grid_y == b.grid_y;
}

bool has_barrier(const Stage& stage) {
  return std::any_of(stage.groups.begin(), stage.groups.end(), [](const Group& group) {
    return group.block_barrier ||
           std::any_of(group.roots.begin(), group.roots.end(), [](const Root& root) {
             return root.kind == RootKind::kReduce && root.slot_offset >= 0;
           });
  });
}

bool sums_rows(const Group& group) {
  return std::any_of(group.roots.begin(), group.roots.end(),
                     [](const Root& root) { return root.kind == RootKind::kReduceRows; });
}

}  // namespace

BlockNumbers numbers_in_grid(const std::string& flat, const StageMapping& mapping) {
  if (mapping.grid_y == 1) return {flat, "0"};
  if (mapping.grid_x == 1) return {"0", flat};
  return {fmt::format("{} % {}", flat, mapping.grid_x),
          fmt::format("{} / {}", flat, mapping.grid_x)};
}

void PartEmitter::emit(CodeWriter& writer) {
  const std::vector<Stage>& stages = part_.stages;
  if (context_.kernel().cluster > 1) writer.line("stitch_cluster_arrive();");
  for (size_t first = 0; first < stages.size();) {
    size_t end = first + 1;
    while (end < stages.size() && stages[end].before != Separation::kGridBarrier) ++end;
    if (first > 0) {
      emit_separation(writer, stages[first - 1], stages[first]);
      context_.registers().clear();
    }
    // Every block comes to the barriers; some have nothing to do between them.
    const StageMapping& m = stages[first].mapping;
    const bool some = stages.size() > 1 && m.kind != MappingKind::kContraction &&
                      m.grid_x * m.grid_y < part_.blocks;
    if (first == 0 && !some) {
      emit_stages(writer, first, end, nullptr);
    } else {
      const auto block =
          writer.block(some ? fmt::format("if ({} < {})", flat_, m.grid_x * m.grid_y) : "");
      emit_stages(writer, first, end, nullptr);
    }
    first = end;
  }
}

// Stages between two barriers of all blocks. One of another mapping than the stage before it is a
// block of its own: its rows are other rows.
void PartEmitter::emit_stages(CodeWriter& writer, size_t s, size_t end, const StageFrame* before) {
  if (s == end) return;
  const Stage& stage = part_.stages[s];
  if (stage.mapping.kind == MappingKind::kContraction) {
    ContractionEmitter(context_, stage, numbers_, &group_).emit(writer);
  } else if (before != nullptr && stage.mapping.passes == 1 &&
             same_mapping(before->mapping(), stage.mapping)) {
    writer.comment(fmt::format("stage {}: the mapping of the stage before", s + 1));
    for (const Group& group : stage.groups) {
      if (group.block_barrier) writer.line("__syncthreads();");
      GroupEmitter(context_, *before, group, {group_++}).emit(writer);
    }
    emit_next(writer, s, end, before);
    return;
  } else {
    StageFrame frame(context_, stage, numbers_);
    frame.declare(writer);
    emit_passes(writer, frame, s + 1 == part_.stages.size());
    emit_row_sums(writer, frame);
    emit_next(writer, s, end, stage.mapping.passes == 1 ? &frame : nullptr);
    return;
  }
  emit_next(writer, s, end, nullptr);
}

void PartEmitter::emit_next(CodeWriter& writer, size_t s, size_t end, const StageFrame* frame) {
  if (s + 1 == end) return;
  const Stage& stage = part_.stages[s + 1];
  emit_separation(writer, part_.stages[s], stage);
  if (frame != nullptr && stage.mapping.passes == 1 &&
      same_mapping(frame->mapping(), stage.mapping)) {
    emit_stages(writer, s + 1, end, frame);
    return;
  }
  context_.registers().clear();
  const auto block = writer.block("");
  emit_stages(writer, s + 1, end, nullptr);
}

// What the rows of all passes add to is declared before the loop.
void PartEmitter::emit_passes(CodeWriter& writer, const StageFrame& frame, bool last) {
  const Stage& stage = frame.stage();
  const bool loops = stage.mapping.passes > 1;
  const bool sums = std::any_of(stage.groups.begin(), stage.groups.end(), sums_rows);
  CodeWriter inside = writer.apart(loops ? 1 : 0);
  std::vector<std::string> declarations;
  before_rows_ = &declarations;
  emit_rows(inside, frame, last && !loops && !sums);
  before_rows_ = nullptr;
  for (const std::string& line : declarations) writer.line(line);
  if (!loops) {
    writer.append(inside);
    return;
  }
  if (has_barrier(stage)) inside.line("__syncthreads();");
  {
    const auto loop = writer.block(frame.pass_loop());
    writer.append(inside);
  }
  frame.leave_passes();
}

void PartEmitter::emit_row_sums(CodeWriter& writer, const StageFrame& frame) {
  int number = group_ - static_cast<int>(frame.stage().groups.size());
  for (const Group& group : frame.stage().groups) {
    if (sums_rows(group)) {
      GroupEmitter(context_, frame, group, {number, true}).emit_row_sums(writer);
    }
    ++number;
  }
}

void PartEmitter::emit_rows(CodeWriter& writer, const StageFrame& frame, bool may_return) {
  if (frame.rows_in_flight() == 1) frame.declare_row(writer);
  const Stage& stage = frame.stage();
  const auto groups = [&] {
    for (const Group& group : stage.groups) {
      if (group.block_barrier) writer.line("__syncthreads();");
      GroupEmitter(context_, frame, group, {group_++, false, before_rows_}).emit(writer);
    }
  };
  if (!frame.is_plain_loop() || !frame.has_surplus()) {
    groups();
    return;
  }
  const std::string row = frame.row_name();
  if (may_return && !has_barrier(stage)) {
    writer.line(fmt::format("if ({} >= {}) return;", row, frame.rows_constant()));
    groups();
    return;
  }
  const auto block = writer.block(fmt::format("if ({} < {})", row, frame.rows_constant()));
  groups();
}

// The counter of this block's meeting: one per assignment of the block axes that are not split.
std::string PartEmitter::counter(const Stage& before, const Stage& stage) const {
  constexpr int kStride = 8;  // unsigned: each counter in a sector of its own
  if (stage.counter < 0) {
    throw InternalError(
        fmt::format("kernel {}: a stage that waits has no counter", context_.kernel().name));
  }
  std::string first = stage.counter == 0 ? "" : std::to_string(stage.counter);
  if (stage.before == Separation::kGridBarrier || stage.whole_grid) {
    return first.empty() ? "counters" : fmt::format("counters + {}", stage.counter * kStride);
  }
  const StageMapping& m = before.mapping;
  IndexPool& pool = context_.pool();
  ElementGraph names;
  std::map<AtomId, Coordinate>& coordinates = names.coordinates;
  std::vector<int64_t> extents;
  for (const AtomId atom : m.block_axes) extents.push_back(pool.atom(atom).extent);
  const AtomId y = pool.add_atom(m.grid_y), x = pool.add_atom(m.grid_x);
  coordinates[y] = {numbers_.y, 1, ScopeId(), false, ElementId()};
  coordinates[x] = {numbers_.x, 1, ScopeId(), false, ElementId()};
  const std::vector<ExprId> parts = pool.delinearise(pool.of(y), extents);
  std::vector<ExprId> left;
  std::vector<int64_t> left_extents;
  for (size_t a = 0; a < parts.size(); ++a) {
    const bool split = std::find(stage.split_axes.begin(), stage.split_axes.end(),
                                 m.block_axes[a]) != stage.split_axes.end();
    if (split) continue;
    left.push_back(parts[a]);
    left_extents.push_back(extents[a]);
  }
  ExprId index = left.empty() ? pool.constant(0) : pool.linearise(left, left_extents);
  index = pool.add(pool.scale(index, m.grid_x), pool.of(x));
  index = pool.scale(pool.add(index, stage.counter), kStride);
  const IndexText text(pool, names, [](ElementId) { return std::string(); });
  const CudaText offset = text.text(index);
  if (offset.text == "0") return "counters";
  return "counters + " + operand(offset, Precedence::kPrimary);
}

void PartEmitter::emit_separation(CodeWriter& writer, const Stage& before, const Stage& stage) {
  const IndexPool& pool = context_.pool();
  int64_t splits = 1;
  for (const AtomId atom : stage.split_axes) splits *= pool.atom(atom).extent;
  if (stage.whole_grid) splits = before.mapping.grid_x * before.mapping.grid_y;
  writer.blank();
  switch (stage.before) {
    case Separation::kNone:
      throw InternalError(
          fmt::format("kernel {}: nothing separates two stages", context_.kernel().name));
    case Separation::kTicket: {
      if (stage.flag_offset < 0) {
        throw InternalError(fmt::format("kernel {}: a ticket has no flag", context_.kernel().name));
      }
      writer.comment("No other block waits for the result, so the last one finishes it.");
      writer.line(
          fmt::format("if (!stitch_arrives_last({}, {}u, stitch_smem<unsigned>({}))) return;",
                      counter(before, stage), splits, stage.flag_offset));
      advance_after_ticket(writer, before, stage);
      break;
    }
    case Separation::kRowBarrier:
      writer.comment("Only the blocks that share these rows are waited for.");
      writer.line(fmt::format("stitch_grid_barrier({}, {}u);", counter(before, stage), splits));
      break;
    case Separation::kGridBarrier:
      writer.line(
          fmt::format("stitch_grid_barrier({}, {}u);", counter(before, stage), part_.blocks));
      numbers_ = numbers_in_grid(flat_, stage.mapping);
      break;
    case Separation::kClusterBarrier:
      writer.comment("The blocks of the cluster have its parts in their own shared memory now.");
      writer.line("stitch_cluster_barrier();");
      break;
  }
}

// The block that goes on owns what its block axes without the split ones say.
void PartEmitter::advance_after_ticket(CodeWriter& writer, const Stage& before,
                                       const Stage& stage) {
  if (stage.whole_grid) {
    numbers_ = {"0", "0"};
    return;
  }
  if (stage.mapping.grid_y == 1) {
    numbers_.y = "0";
    return;
  }
  IndexPool& pool = context_.pool();
  ElementGraph names;
  std::map<AtomId, Coordinate>& coordinates = names.coordinates;
  std::vector<int64_t> extents;
  for (const AtomId atom : before.mapping.block_axes) extents.push_back(pool.atom(atom).extent);
  const AtomId y = pool.add_atom(before.mapping.grid_y);
  coordinates[y] = {numbers_.y, 1, ScopeId(), false, ElementId()};
  const std::vector<ExprId> parts = pool.delinearise(pool.of(y), extents);
  std::vector<ExprId> left;
  std::vector<int64_t> left_extents;
  for (const AtomId atom : stage.mapping.block_axes) {
    const auto& axes = before.mapping.block_axes;
    const auto found = std::find(axes.begin(), axes.end(), atom);
    if (found == axes.end()) {
      throw InternalError(fmt::format("kernel {}: a ticket gives its block axes it did not own",
                                      context_.kernel().name));
    }
    left.push_back(parts[static_cast<size_t>(found - axes.begin())]);
    left_extents.push_back(pool.atom(atom).extent);
  }
  const IndexText text(pool, names, [](ElementId) { return std::string(); });
  const std::string name = context_.names().take("owner");
  writer.line(
      fmt::format("const int {} = {};", name, text.text(pool.linearise(left, left_extents)).text));
  numbers_.y = name;
}

}  // namespace stitch
