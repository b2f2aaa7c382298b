// The loops of a group around its statements, and what follows them: folding chains, reducing over
// threads, storing results per row.
#include <fmt/format.h>

#include <algorithm>

#include "emit_cuda/cuda_types.h"
#include "emit_cuda/group_emitter.h"
#include "emit_cuda/index_text.h"
#include "emit_cuda/scalar_text.h"
#include "graph/error.h"
#include "planner/access/lane_access.h"

namespace stitch {
namespace {

constexpr int kWarp = 32;
constexpr int64_t kUnrolledSteps = 4;  // of a loop that is not unrolled whole

}  // namespace

void GroupEmitter::emit(CodeWriter& writer) {
  writer.blank();
  const std::string nodes = context_.describe(group_.nodes);
  writer.comment(fmt::format("group {}: {}", position_.number, nodes.empty() ? "copy" : nodes));
  ScopeWriter scopes(builder_, writer);
  scopes.set_vector_name(frame_.row_width() > 1 ? frame_.width_constant() : steps_.vector_constant);
  declare(writer);
  scopes.write(stage_scope_);
  write_rows(writer, scopes);
  if (group_.mapping.inner_rows.empty()) {
    reduce_over_threads(writer);
    store_results(writer, scopes);
    share_results(writer, scopes);
  }
  keep_results();
}

void GroupEmitter::declare(CodeWriter& writer) {
  if (steps_.declares) {
    writer.line(fmt::format("const int {} = {};", steps_.column, steps_.start));
  }
  for (const std::string& line : declarations_) writer.line(line);
  if (!in_flight()) return;
  for (const Reduce& reduce : reduces_) {
    writer.line(fmt::format("{} {}[{}];", reduce.type, reduce.name, frame_.in_flight_constant()));
  }
}

void GroupEmitter::write_rows(CodeWriter& writer, ScopeWriter& scopes) {
  if (!in_flight()) {
    scopes.write(row_scope_);
    write_inner_rows(writer, scopes);
    return;
  }
  writer.pragma("unroll");
  const auto block =
      writer.block(fmt::format("for (int r = 0; r < {}; ++r)", frame_.in_flight_constant()));
  frame_.declare_row(writer);
  scopes.write(row_scope_);
  write_inner_rows(writer, scopes);
}

void GroupEmitter::write_inner_rows(CodeWriter& writer, ScopeWriter& scopes) {
  if (group_.mapping.inner_rows.empty()) {
    start_reduces(writer);
    write_steps(writer, scopes);
    fold_chains(writer);
    return;
  }
  const std::string rows = context_.constant("kInnerRows", inner_rows_);
  const int64_t rounds = (inner_rows_ + teams_ - 1) / teams_;
  const bool surplus = inner_rows_ % teams_ != 0;
  const std::string thread = frame_.column_thread();
  const std::string team =
      teams_ == 1 ? "" : fmt::format("{} / {}", thread, group_.mapping.threads);
  const auto block = writer.block(
      rounds == 1 ? "" : fmt::format("for (int round = 0; round < {}; ++round)", rounds));
  std::string row = rounds == 1   ? (teams_ == 1 ? "0" : team)
                    : teams_ == 1 ? "round"
                                  : fmt::format("round * {} + {}", teams_, team);
  if (surplus) {
    writer.line(fmt::format("const int inner_row = min({}, {} - 1);", row, rows));
    writer.line(fmt::format("const bool inner_live = {} < {};", row, rows));
  } else {
    writer.line(fmt::format("const int inner_row = {};", row));
  }
  scopes.write(inner_scope_);
  start_reduces(writer);
  write_steps(writer, scopes);
  fold_chains(writer);
  reduce_over_threads(writer);
  store_results(writer, scopes);
}

// ---- steps ------------------------------------------------------------------------------------

std::string GroupEmitter::step_guard(ScopeWriter& scopes, bool in_loop) {
  const GroupMapping& m = group_.mapping;
  std::vector<std::string> parts;
  if (position_.behind_rows && frame_.team() != "0") parts.push_back(frame_.team() + " == 0");
  if (!position_.behind_rows && frame_.has_surplus() && !frame_.is_plain_loop())
    parts.push_back("live");
  if (!m.inner_rows.empty() && inner_rows_ % teams_ != 0) parts.push_back("inner_live");
  const std::string thread = frame_.column_thread();
  const std::string is_first = m.inner_rows.empty() || teams_ == 1
                                   ? thread + " == 0"
                                   : fmt::format("{} % {} == 0", thread, m.threads);
  if (row_values()) {
    const int team_threads = m.inner_rows.empty() ? frame_.mapping().threads_per_row : m.threads;
    if (team_threads > 1) parts.push_back(is_first);
  } else {
    const bool some = m.inner_rows.empty() && m.threads < frame_.mapping().threads_per_row;
    if (some) parts.push_back(fmt::format("{} < {}", thread, m.threads));
    if (steps_.ragged && m.unrolled && in_loop) {
      parts.push_back(fmt::format("stitch_inside<{}, {}>(i, {})", steps_.columns_constant,
                                  steps_.span_constant, steps_.column));
    } else if (steps_.ragged && steps_.columns <= m.vector) {
      parts.push_back(is_first);  // one vector in all: no thread has a column number
    } else if (steps_.ragged && steps_.count == 1) {
      parts.push_back(fmt::format("{} < {}", steps_.column, steps_.columns_constant));
    }
  }
  if (!position_.behind_rows) {
    for (const ElementId condition : step_conditions_) parts.push_back(scopes.text(condition).text);
  }
  std::string result;
  for (const std::string& part : parts) result += (result.empty() ? "" : " && ") + part;
  return result;
}

void GroupEmitter::write_steps(CodeWriter& writer, ScopeWriter& scopes) {
  if (!scopes.has_statements(step_scope_)) return;
  const GroupMapping& m = group_.mapping;
  if (row_values()) {
    write_step_body(writer, scopes, false);
    return;
  }
  if (!m.unrolled && steps_.count > 1) {
    writer.pragma(fmt::format("unroll {}", kUnrolledSteps));
    const auto block =
        writer.block(fmt::format("for (int {0} = {1}; {0} < {2}; {0} += {3})", steps_.column,
                                 steps_.start, steps_.columns_constant, steps_.span_constant));
    write_step_body(writer, scopes, true);
    return;
  }
  if (steps_.count == 1) {
    write_step_body(writer, scopes, false);
    return;
  }
  writer.pragma("unroll");
  const auto block =
      writer.block(fmt::format("for (int i = 0; i < {}; ++i)", steps_.steps_constant));
  const std::string step = steps_.span == 1 ? std::string("i") : "i * " + steps_.span_constant;
  writer.line(fmt::format("const int {} = {};", steps_.column,
                          steps_.start == "0" ? step : steps_.start + " + " + step));
  write_step_body(writer, scopes, true);
}

void GroupEmitter::write_step_body(CodeWriter& writer, ScopeWriter& scopes, bool in_loop) {
  if (position_.behind_rows) add_up_teams(writer);
  const std::string guard = step_guard(scopes, in_loop);
  if (guard.empty()) {
    write_step(writer, scopes);
    return;
  }
  const auto block = writer.block("if (" + guard + ")");
  write_step(writer, scopes);
}

// ---- reductions -------------------------------------------------------------------------------

void GroupEmitter::start_reduces(CodeWriter& writer) {
  start_leaders(writer);
  for (const Reduce& reduce : reduces_) {
    const bool zero = reduce.start == "0.0f" || reduce.start == "0.0" || reduce.start == "0";
    const std::string array = !reduce.chains.empty() ? reduce.chains : reduce.name;
    const std::string width =
        !reduce.chains.empty() ? steps_.vector_constant : frame_.width_constant();
    if (!reduce.chains.empty() || row_width() > 1) {
      if (zero) {
        writer.line(fmt::format("{} {}[{}] = {{}};", reduce.type, array, width));
      } else {
        writer.line(fmt::format("{} {}[{}];", reduce.type, array, width));
        writer.pragma("unroll");
        writer.line(fmt::format("for (int j = 0; j < {}; ++j) {}[j] = {};", width, array,
                                reduce.arg ? reduce.type + reduce.start : reduce.start));
      }
    } else if (in_flight()) {
      writer.line(fmt::format("{} = {};", per_row(reduce.name),
                              reduce.arg ? reduce.type + reduce.start : reduce.start));
    } else {
      writer.line(fmt::format("{} {} = {};", reduce.type, reduce.name, reduce.start));
    }
  }
}

void GroupEmitter::fold_chains(CodeWriter& writer) {
  for (const Reduce& reduce : reduces_) {
    if (reduce.chains.empty()) continue;
    writer.line(fmt::format("{}{} = stitch_fold({}, {});", in_flight() ? "" : reduce.type + " ",
                            per_row(reduce.name), reduce.chains, reduce.functor));
  }
}

void GroupEmitter::reduce_over_threads(CodeWriter& writer) {
  for (Reduce& reduce : reduces_) {
    if (reduce.root->cascade.rule != CascadeRule::kNone) {
      combine_follower(writer, reduce);
    } else {
      note_own(writer, reduce);
      const std::string line = over_threads(reduce);
      if (!line.empty()) writer.line(line);
    }
    convert(writer, reduce);
  }
}

std::string GroupEmitter::over_threads(const Reduce& reduce) const {
  const int threads = group_.mapping.threads;
  if (threads == 1) return "";
  std::string slot;
  if (reduce.root->slot_offset >= 0) {
    slot = fmt::format("stitch_smem<{}>({})", reduce.type, reduce.root->slot_offset);
  }
  std::string count = threads == frame_.mapping().threads_per_row ? frame_.threads_constant()
                                                                  : std::to_string(threads);
  if (frame_.lanes_along_rows()) {
    const std::string arguments =
        fmt::format("<{}, {}>({}, {}, {});", count, frame_.row_threads_constant(), reduce.name,
                    reduce.functor, slot);
    return row_width() > 1 ? "stitch_column_reduce" + arguments
                           : reduce.name + " = stitch_column_reduce_one" + arguments;
  }
  if (threads > kWarp && slot.empty()) {
    throw InternalError(fmt::format("kernel {}: a reduce over {} threads has no shared memory",
                                    context_.kernel().name, threads));
  }
  const std::string arguments = fmt::format("<{}>({}, {}{});", count, reduce.name, reduce.functor,
                                            threads > kWarp ? ", " + slot : "");
  if (in_flight()) return "stitch_row_reduce_each" + arguments;
  return reduce.name + " = stitch_row_reduce" + arguments;
}

// From the accumulator's type to the value's, where they differ.
void GroupEmitter::convert(CodeWriter& writer, Reduce& reduce) {
  if (!reduce.arg && register_type(reduce.state) == register_type(reduce.result)) return;
  const std::string before = reduce.name;
  reduce.name = context_.names().take(context_.wish(reduce.root->value));
  const std::string type = register_type(reduce.result);
  const auto value = [&](const std::string& state) {
    if (reduce.arg) return "static_cast<" + type + ">(" + state + ".index)";
    return cast_text({state}, reduce.state, reduce.result).text;
  };
  const std::string rows = in_flight()       ? frame_.in_flight_constant()
                           : row_width() > 1 ? frame_.width_constant()
                                             : "";
  if (rows.empty()) {
    writer.line(fmt::format("const {} {} = {};", type, reduce.name, value(before)));
    return;
  }
  const std::string variable = in_flight() ? "r" : "j";
  writer.line(fmt::format("{} {}[{}];", type, reduce.name, rows));
  writer.pragma("unroll");
  writer.line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {2}[{0}] = {3};", variable, rows,
                          reduce.name, value(before + "[" + variable + "]")));
}

// ---- results per row --------------------------------------------------------------------------

void GroupEmitter::store_results(CodeWriter& writer, ScopeWriter& scopes) {
  struct Store {
    const Reduce* reduce;
    Memory to;
    ExprId offset;
  };
  std::vector<Store> stores;
  for (const Reduce& reduce : reduces_) {
    const AccessValueId value = reduce.root->value;
    const std::vector<ExprId> atoms = own_parts(value);
    for (const PlaceKind kind : {PlaceKind::kShared, PlaceKind::kScratch}) {
      const Place* const place = context_.place(value, kind);
      if (place == nullptr) continue;
      const Memory to = kind == PlaceKind::kShared ? context_.shared(value, *place)
                                                   : context_.write(place->buffer);
      stores.push_back({&reduce, to, builder_.place_offset(*place, value, atoms)});
      stored_.push_back(value);
    }
    for (const Root* late : late_stores_) {
      if (late->value != value) continue;
      std::vector<ExprId> index;
      for (const ExprId e : late->index) {
        index.push_back(builder_.substituted(e, binding_, ElementBuilder::always()));
      }
      stores.push_back(
          {&reduce, context_.write(late->buffer), context_.offset(late->buffer, index)});
    }
  }
  if (stores.empty()) return;
  const GroupMapping& m = group_.mapping;
  std::string guard;
  if (m.threads > 1) {
    guard = m.inner_rows.empty() || teams_ == 1
                ? frame_.column_thread() + " == 0"
                : fmt::format("{} % {} == 0", frame_.column_thread(), m.threads);
  }
  if (!m.inner_rows.empty() && inner_rows_ % teams_ != 0) {
    guard += std::string(guard.empty() ? "" : " && ") + "inner_live";
  }
  guard = result_guard(scopes, std::move(guard));
  const auto write = [&] {
    for (const Store& store : stores) {
      store_result(writer, scopes, *store.reduce, store.to, store.offset);
    }
  };
  const auto guarded = [&] {
    if (guard.empty()) {
      write();
      return;
    }
    const auto block = writer.block("if (" + guard + ")");
    write();
  };
  if (!in_flight()) {
    guarded();
    return;
  }
  writer.pragma("unroll");
  const auto block =
      writer.block(fmt::format("for (int r = 0; r < {}; ++r)", frame_.in_flight_constant()));
  frame_.declare_row(writer);
  guarded();
}

// Of rows that exist.
std::string GroupEmitter::result_guard(ScopeWriter& scopes, std::string guard) const {
  if (frame_.has_surplus() && !frame_.is_plain_loop()) {
    guard += std::string(guard.empty() ? "" : " && ") + "live";
  }
  for (const auto& [condition, negated] : builder_.graph().at(row_predicate_)) {
    guard += std::string(guard.empty() ? "" : " && ") + scopes.text(condition).text;
  }
  return guard;
}

// The index of the value at the group's own point, one expression for each of its atoms.
std::vector<ExprId> GroupEmitter::own_parts(AccessValueId value) {
  std::vector<ExprId> parts;
  for (const AtomId atom : builder_.atoms_of(value)) {
    const auto bound = binding_.find(atom);
    parts.push_back(bound == binding_.end() ? context_.pool().constant(0) : bound->second);
  }
  return parts;
}

// What other blocks of the cluster read behind the next barrier goes to each of them.
void GroupEmitter::share_results(CodeWriter& writer, ScopeWriter& scopes) {
  std::vector<std::pair<const Reduce*, const Place*>> shared;
  for (const Reduce& reduce : reduces_) {
    const Place* const place = context_.place(reduce.root->value, PlaceKind::kCluster);
    if (place != nullptr) shared.emplace_back(&reduce, place);
  }
  if (shared.empty()) return;
  if (!context_.cluster_has_begun()) {
    writer.comment("Every block of the cluster has begun: its shared memory is there.");
    writer.line("stitch_cluster_wait();");
    context_.cluster_has_begun() = true;
  }
  const std::string blocks = context_.constant("kCluster", context_.kernel().cluster);
  const std::string guard = result_guard(scopes, "");
  const auto write = [&] {
    for (const auto& [reduce, place] : shared) {
      const AccessValueId value = reduce->root->value;
      const Memory to = context_.shared(value, *place);
      const CudaText offset =
          scopes.offset_text(builder_.place_offset(*place, value, own_parts(value)));
      writer.line(fmt::format("stitch_cluster_share<{}, {}>({}{}, {}, {});", blocks,
                              frame_.threads_constant(), to.pointer,
                              ScopeWriter::displacement(offset), per_row(reduce->name),
                              frame_.column_thread()));
      stored_.push_back(value);
    }
  };
  const auto guarded = [&] {
    if (guard.empty()) {
      write();
      return;
    }
    const auto block = writer.block("if (" + guard + ")");
    write();
  };
  if (!in_flight()) {
    guarded();
    return;
  }
  writer.pragma("unroll");
  const auto block =
      writer.block(fmt::format("for (int r = 0; r < {}; ++r)", frame_.in_flight_constant()));
  frame_.declare_row(writer);
  guarded();
}

void GroupEmitter::store_result(CodeWriter& writer, ScopeWriter& scopes, const Reduce& reduce,
                                const Memory& to, ExprId offset) {
  const ElementGraph& graph = builder_.graph();
  const bool vector =
      row_width() > 1 && to.aligned &&
      lane_access(context_.pool(), offset, graph.lane, graph.width) == LaneAccess::kContiguous;
  if (vector) {
    const ExprId base =
        context_.pool().substitute(offset, {{graph.lane, context_.pool().constant(0)}});
    writer.line(fmt::format("stitch_store({}{}, {});", to.pointer,
                            ScopeWriter::displacement(scopes.offset_text(base)), reduce.name));
    return;
  }
  std::string value = per_row(reduce.name);
  if (row_width() > 1) value += "[j]";
  std::string line = fmt::format("{}[{}] = {};", to.pointer, scopes.index_text(offset), value);
  if (is_half(to.dtype)) {
    line = fmt::format("stitch_store_one({}{}, {});", to.pointer,
                       ScopeWriter::displacement(scopes.offset_text(offset)), value);
  }
  if (row_width() > 1) {
    writer.pragma("unroll");
    line = fmt::format("for (int j = 0; j < {}; ++j) {}", frame_.width_constant(), line);
  }
  writer.line(line);
}

void GroupEmitter::keep_results() {
  for (const Reduce& reduce : reduces_) {
    if (!group_.mapping.inner_rows.empty()) continue;
    context_.registers()[reduce.root->value] = {per_row(reduce.name), row_width() > 1, Level::kRow};
  }
  for (const auto& [value, kept] : kept_) context_.registers()[value] = kept;
  for (const AccessValueId value : stored_) context_.stored().insert(value);
}

}  // namespace stitch
