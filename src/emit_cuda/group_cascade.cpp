// Sums that follow another reduce of their group (Root::cascade): each step first updates the
// reduce, then carries the sums along, then adds the terms of the step.
#include <fmt/format.h>

#include <algorithm>

#include "emit_cuda/group_emitter.h"
#include "graph/error.h"

namespace stitch {
namespace {

// One statement for every row of the vector, or for the row.
void line_each(CodeWriter& writer, const std::string& width, const std::string& line) {
  if (width.empty()) {
    writer.line(line);
    return;
  }
  writer.pragma("unroll");
  writer.line(fmt::format("for (int j = 0; j < {}; ++j) {}", width, line));
}

// 0 takes the place of an infinite maximum.
bool shifts_by_finite(const Cascade& cascade) { return cascade.center != cascade.leader; }

std::string_view shift_function(const Cascade& cascade) {
  return shifts_by_finite(cascade) ? "stitch_finite_shift" : "stitch_exp_shift";
}

}  // namespace

// ---- elements ---------------------------------------------------------------------------------

void GroupEmitter::add_follower(const Root& root) {
  if (in_flight() || row_values() || !group_.mapping.inner_rows.empty()) {
    throw InternalError(fmt::format("kernel {}: a sum follows a reduce in a mapping without steps",
                                    context_.kernel().name));
  }
  const Leader leader = leaders_[leader_of(root)];
  context_.registers()[root.cascade.center] = {leader.center, row_width() > 1, Level::kFollow};
  add_reduce(root);
  context_.registers().erase(root.cascade.center);
}

size_t GroupEmitter::leader_of(const Root& root) {
  for (size_t i = 0; i < leaders_.size(); ++i) {
    if (leaders_[i].cascade == root.cascade) return i;
  }
  const auto reduce = std::find_if(reduces_.begin(), reduces_.end(), [&](const Reduce& r) {
    return r.root->value == root.cascade.leader;
  });
  if (reduce == reduces_.end()) {
    throw InternalError(
        fmt::format("kernel {}: a sum follows a reduce of another group", context_.kernel().name));
  }
  Leader leader;
  leader.cascade = root.cascade;
  leader.name = reduce->name;
  switch (root.cascade.rule) {
    case CascadeRule::kNone:
      break;
    case CascadeRule::kShiftedExp:
      leader.center = context_.names().take("shift");
      leader.before = context_.names().take("before");
      leader.own = context_.names().take("own");
      break;
    case CascadeRule::kSquaredDistance:
      leader.center = context_.names().take("running_mean");
      leader.rest = context_.names().take("mean_rest");
      leader.moved = context_.names().take("moved");
      leader.count = context_.names().take("count");
      add_moved_sink(leader, *reduce->node);
      break;
  }
  leaders_.push_back(std::move(leader));
  return leaders_.size() - 1;
}

// "moved += x - running_mean;"
void GroupEmitter::add_moved_sink(const Leader& leader, const AccessNode& node) {
  const Read read = node.operands.front();
  const ElementId x =
      builder_.converted(builder_.read_at(read, binding_, row_predicate_), DType::kF32);
  const std::string row = row_width() > 1 ? "[j]" : "";
  Sink sink;
  sink.scope = step_scope_;
  sink.lanes = builder_.graph().lane.valid();
  sink.inputs = {x};
  sink.write = [to = leader.moved + row, center = leader.center + row](
                   const std::vector<CudaText>& texts) -> std::vector<std::string> {
    return {fmt::format("{} += {} - {};", to, operand(texts[0], Precedence::kSum), center)};
  };
  builder_.add_sink(std::move(sink));
}

// ---- statements -------------------------------------------------------------------------------

void GroupEmitter::write_step(CodeWriter& writer, ScopeWriter& scopes) {
  for (const Leader& leader : leaders_) begin_step(writer, leader);
  scopes.write(step_scope_);
  if (leaders_.empty()) return;
  for (const Leader& leader : leaders_) carry(writer, leader);
  scopes.write(follow_scope_);
}

void GroupEmitter::start_leaders(CodeWriter& writer) const {
  for (const Leader& leader : leaders_) {
    if (leader.cascade.rule != CascadeRule::kSquaredDistance) continue;
    for (const std::string& name : {leader.center, leader.rest}) {
      writer.line(row_width() > 1
                      ? fmt::format("float {}[{}] = {{}};", name, frame_.width_constant())
                      : fmt::format("float {} = 0.0f;", name));
    }
    writer.line(fmt::format("float {} = 0.0f;", leader.count));
  }
}

void GroupEmitter::begin_step(CodeWriter& writer, const Leader& leader) const {
  const bool rows = row_width() > 1;
  if (leader.cascade.rule == CascadeRule::kSquaredDistance) {
    writer.line(rows ? fmt::format("float {}[{}] = {{}};", leader.moved, frame_.width_constant())
                     : fmt::format("float {} = 0.0f;", leader.moved));
  } else {
    copy_running(writer, leader, leader.before);
  }
}

void GroupEmitter::copy_running(CodeWriter& writer, const Leader& leader,
                                const std::string& to) const {
  if (row_width() == 1) {
    writer.line(fmt::format("const float {} = {};", to, leader.name));
    return;
  }
  writer.line(fmt::format("float {}[{}];", to, frame_.width_constant()));
  line_each(writer, frame_.width_constant(), fmt::format("{}[j] = {}[j];", to, leader.name));
}

void GroupEmitter::carry(CodeWriter& writer, const Leader& leader) const {
  const bool rows = row_width() > 1;
  const std::string width = rows ? frame_.width_constant() : "";
  const std::string row = rows ? "[j]" : "";
  const bool exponential = leader.cascade.rule == CascadeRule::kShiftedExp;
  if (exponential) {
    if (rows) writer.line(fmt::format("float {}[{}];", leader.center, width));
    line_each(writer, width,
              fmt::format("{}{}{} = {}({}{});", rows ? "" : "const float ", leader.center, row,
                          shift_function(leader.cascade), leader.name, row));
  }
  const std::string added = fmt::format("{}.0f", rows ? 1 : group_.mapping.vector);
  for (const Reduce& reduce : reduces_) {
    if (!(reduce.root->cascade == leader.cascade)) continue;
    if (exponential) {
      const std::string factor =
          fmt::format("stitch_exp_carry({}{}, {}{});", leader.before, row, leader.center, row);
      const std::string changed =
          fmt::format("if ({0}{2} != {1}{2}) ", leader.name, leader.before, row);
      if (reduce.chains.empty()) {
        line_each(writer, width, fmt::format("{}{}{} *= {}", changed, reduce.name, row, factor));
      } else {
        const auto block = writer.block(changed.substr(0, changed.size() - 1));
        const std::string name = context_.names().take("carried");
        writer.line(fmt::format("const float {} = {}", name, factor));
        line_each(writer, steps_.vector_constant, fmt::format("{}[j] *= {};", reduce.chains, name));
      }
    } else {
      const std::string to = reduce.chains.empty() ? reduce.name + row : reduce.chains + "[0]";
      line_each(writer, width,
                fmt::format("{0} += stitch_move_mean({1}{6}, {2}{6}, {3}{6}, {4}, {5});", to,
                            leader.center, leader.rest, leader.moved, leader.count, added, row));
    }
  }
  if (!exponential) writer.line(fmt::format("{} += {};", leader.count, added));
}

const GroupEmitter::Leader* GroupEmitter::leader_named(const std::string& name) const {
  for (const Leader& leader : leaders_) {
    if (leader.name == name) return &leader;
  }
  return nullptr;
}

// The maximum of this thread's elements, to which its sums refer.
void GroupEmitter::note_own(CodeWriter& writer, const Reduce& reduce) const {
  const Leader* const leader = leader_named(reduce.name);
  if (leader != nullptr && leader->cascade.rule == CascadeRule::kShiftedExp) {
    copy_running(writer, *leader, leader->own);
  }
}

void GroupEmitter::combine_follower(CodeWriter& writer, const Reduce& reduce) const {
  const auto found = std::find_if(leaders_.begin(), leaders_.end(), [&](const Leader& leader) {
    return leader.cascade == reduce.root->cascade;
  });
  const Leader& leader = *found;
  const bool rows = row_width() > 1;
  const std::string width = rows ? frame_.width_constant() : "";
  const std::string row = rows ? "[j]" : "";
  if (leader.cascade.rule == CascadeRule::kShiftedExp) {
    // Not a number where the whole row is -inf, as without the cascade.
    const std::string shift = shifts_by_finite(leader.cascade)
                                  ? fmt::format("stitch_finite_shift({}{})", leader.name, row)
                                  : leader.name + row;
    line_each(writer, width,
              fmt::format("{}{} *= stitch_exp_carry({}{}, {});", reduce.name, row, leader.own, row,
                          shift));
    const std::string line = over_threads(reduce);
    if (!line.empty()) writer.line(line);
    return;
  }
  Reduce moments = reduce;
  moments.type = "StitchMoments";
  moments.functor = "StitchMomentsCombine()";
  moments.name = context_.names().take("moments");
  const std::string state = fmt::format("{{{0}, {1}{4}, {2}{4}, {3}{4}}};", leader.count,
                                        leader.center, reduce.name, leader.rest, row);
  const std::string line = over_threads(moments);
  if (line.empty()) return;
  if (rows) {
    writer.line(fmt::format("StitchMoments {}[{}];", moments.name, width));
    line_each(writer, width, fmt::format("{}[j] = {}", moments.name, state));
  } else {
    writer.line(fmt::format("StitchMoments {} = {}", moments.name, state));
  }
  writer.line(line);
  line_each(writer, width,
            fmt::format("{}{} = {}{}.squares;", reduce.name, row, moments.name, row));
}

}  // namespace stitch
