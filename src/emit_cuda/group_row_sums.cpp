// Sums over the rows that a block sweeps (RootKind::kReduceRows): arrays declared before the loop
// over passes, added to in every pass, and stored per block behind it.
#include <fmt/format.h>

#include "emit_cuda/cuda_types.h"
#include "emit_cuda/group_emitter.h"
#include "emit_cuda/scalar_text.h"
#include "graph/error.h"

namespace stitch {

// The elements of this step: "name[i]" where there are several steps.
std::string GroupEmitter::here(const std::string& array) const {
  return steps_.count > 1 ? array + "[i]" : array;
}

void GroupEmitter::add_row_sum(const Root& root) {
  Reduce sum = reduce_of(root);
  const std::vector<ElementId> inputs = inputs_of(sum);
  if (sum.kind != ReduceKind::kSum || register_type(sum.state) != register_type(sum.result) ||
      position_.before_rows == nullptr || (steps_.count > 1 && !group_.mapping.unrolled)) {
    throw InternalError(
        fmt::format("kernel {}: a sum over rows does not fit its stage", context_.kernel().name));
  }
  std::string wish = context_.wish(root.value);
  if (wish.starts_with("row_")) wish = "column" + wish.substr(3);
  sum.name = context_.names().take(wish);
  const bool lanes = group_.mapping.vector > 1;
  std::string declared = sum.name;
  if (steps_.count > 1) declared += "[" + steps_.steps_constant + "]";
  if (lanes) declared += "[" + steps_.vector_constant + "]";
  position_.before_rows->push_back(
      fmt::format("{} {}{};", sum.type, declared, declared == sum.name ? " = 0" : " = {}"));
  Sink sink = accumulation(sum, here(sum.name) + (lanes ? "[j]" : ""));
  sink.scope = step_scope_;
  sink.lanes = lanes;
  sink.inputs = inputs;
  builder_.add_sink(std::move(sink));
  kept_.push_back({root.value, {here(sum.name), lanes, Level::kStep}});
}

void GroupEmitter::add_row_sum_store(const Root& root) {
  const Place* const place = context_.place(root.value, PlaceKind::kScratch);
  if (place == nullptr) {
    throw InternalError(
        fmt::format("kernel {}: a sum over rows is kept nowhere", context_.kernel().name));
  }
  std::vector<ExprId> atoms;
  for (const AtomId atom : builder_.atoms_of(root.value)) atoms.push_back(binding_.at(atom));
  const ElementId sum = builder_.value_at(root.value, binding_, ElementBuilder::always());
  add_store_sink(context_.write(place->buffer), builder_.place_offset(*place, root.value, atoms),
                 sum);
  stored_.push_back(root.value);
  Reduce reduce = reduce_of(root);
  reduce.state = reduce.result;
  reduce.type = register_type(reduce.state);
  reduce.functor = combine_functor(reduce.kind, reduce.state);
  row_sums_.push_back({std::move(reduce), context_.registers().at(root.value).text});
}

void GroupEmitter::emit_row_sums(CodeWriter& writer) {
  writer.blank();
  writer.comment(fmt::format("group {}: the sums of this block's rows", position_.number));
  ScopeWriter scopes(builder_, writer);
  scopes.set_vector_name(steps_.vector_constant);
  declare(writer);
  scopes.write(stage_scope_);
  write_steps(writer, scopes);
  keep_results();
}

// The same columns of all teams, through shared memory.
void GroupEmitter::add_up_teams(CodeWriter& writer) const {
  if (frame_.mapping().row_threads == 1) return;
  for (const auto& [sum, array] : row_sums_) {
    const std::string arguments =
        fmt::format("<{}, {}>({}, {}, stitch_smem<{}>({}));", frame_.row_threads_constant(),
                    frame_.threads_constant(), array, sum.functor, sum.type, sum.root->slot_offset);
    writer.line("__syncthreads();");
    writer.line(group_.mapping.vector > 1 ? "stitch_column_reduce" + arguments
                                          : array + " = stitch_column_reduce_one" + arguments);
  }
}

}  // namespace stitch
