#include "emit_cuda/group_emitter.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit_cuda/cuda_types.h"
#include "emit_cuda/index_text.h"
#include "emit_cuda/scalar_text.h"
#include "emit_cuda/store_sink.h"
#include "graph/error.h"

namespace stitch {
namespace {

std::vector<int64_t> extents_of(const IndexPool& pool, const std::vector<AtomId>& atoms) {
  std::vector<int64_t> extents;
  for (const AtomId atom : atoms) extents.push_back(pool.atom(atom).extent);
  return extents;
}

int64_t product(const std::vector<int64_t>& extents) {
  int64_t count = 1;
  for (const int64_t extent : extents) count *= extent;
  return count;
}

constexpr int64_t kNamedExtent = 16;  // smaller ones occur by chance

}  // namespace

GroupEmitter::GroupEmitter(KernelContext& context, const StageFrame& frame, const Group& group,
                           GroupPosition position)
    : context_(context),
      frame_(frame),
      group_(group),
      position_(std::move(position)),
      builder_(context) {
  set_up();
}

void GroupEmitter::set_up() {
  std::vector<AccessNodeId> nodes = group_.nodes;
  builder_.mark_uncontracted(nodes);
  ElementGraph& graph = builder_.graph();
  stage_scope_ = builder_.outermost();
  row_scope_ = graph.add_scope(stage_scope_);
  inner_scope_ = graph.add_scope(row_scope_);
  step_scope_ = graph.add_scope(inner_scope_);
  follow_scope_ = graph.add_scope(step_scope_);
  builder_.set_levels({stage_scope_, row_scope_, inner_scope_, step_scope_, follow_scope_});
  frame_.bind(builder_, row_scope_, binding_);
  bind_inner_rows();
  bind_columns();
  builder_.set_own(binding_, group_.mapping);
  bind_guards();
  add_roots();
}

void GroupEmitter::bind_inner_rows() {
  const GroupMapping& m = group_.mapping;
  if (m.inner_rows.empty()) return;
  const std::vector<int64_t> extents = extents_of(context_.pool(), m.inner_rows);
  inner_rows_ = product(extents);
  teams_ = std::max(frame_.mapping().threads_per_row / std::max(m.threads, 1), 1);
  const ExprId inner =
      builder_.add_coordinate(inner_rows_, {"inner_row", 1, inner_scope_, false, ElementId()});
  const std::vector<ExprId> parts = context_.pool().delinearise(inner, extents);
  for (size_t a = 0; a < parts.size(); ++a) binding_[m.inner_rows[a]] = parts[a];
}

void GroupEmitter::bind_columns() {
  const GroupMapping& m = group_.mapping;
  if (m.columns.empty()) return;
  IndexPool& pool = context_.pool();
  const std::vector<int64_t> extents = extents_of(pool, m.columns);
  steps_.columns = product(extents);
  if (m.vector > 1 && (frame_.row_width() > 1 || extents.back() % m.vector != 0)) {
    throw InternalError(fmt::format("kernel {}: a vector of {} does not fit its columns",
                                    context_.kernel().name, m.vector));
  }
  steps_.span = static_cast<int64_t>(m.threads) * m.vector;
  steps_.count = (steps_.columns + steps_.span - 1) / steps_.span;
  steps_.ragged = steps_.columns % steps_.span != 0;
  steps_.columns_constant = context_.constant(frame_.columns_wish(), steps_.columns);
  steps_.vector_constant = m.vector > 1 ? context_.constant("kVector", m.vector) : "1";
  std::string threads = "1";
  if (m.threads == frame_.mapping().threads_per_row) {
    threads = frame_.threads_constant();
  } else if (m.threads > 1) {
    threads = context_.constant("kThreads", m.threads);
  }
  std::string span = threads;
  if (m.vector > 1)
    span = threads == "1" ? steps_.vector_constant : threads + " * " + steps_.vector_constant;
  steps_.span_constant = steps_.span == 1 ? "1" : context_.constant("kSpan", steps_.span, span);
  if (steps_.count > 1 && m.unrolled) {
    steps_.steps_constant = context_.constant(
        "kSteps", steps_.count,
        steps_.ragged
            ? fmt::format("({0} + {1} - 1) / {1}", steps_.columns_constant, steps_.span_constant)
            : steps_.columns_constant + " / " + steps_.span_constant);
  }
  std::string thread = frame_.column_thread();
  if (!m.inner_rows.empty() && teams_ > 1) thread = fmt::format("{} % {}", thread, m.threads);
  if (m.threads == 1 && !m.inner_rows.empty()) thread = "0";
  steps_.start = thread;
  if (m.vector > 1 && thread != "0") steps_.start += " * " + steps_.vector_constant;
  steps_.column = frame_.column_name();
  if (steps_.count == 1 && steps_.columns > m.vector && thread != "0") {
    const StageFrame::Variable variable = frame_.column_variable(steps_.start);
    steps_.column = variable.name;
    steps_.declares = variable.is_new;
  }
  // What a row of memory is long: kCols in both kinds of mapping.
  const int64_t length = frame_.is_column() ? frame_.rows() : steps_.columns;
  if (length >= kNamedExtent) {
    builder_.graph().factors[length] =
        frame_.is_column() ? frame_.rows_constant() : steps_.columns_constant;
  }
  ExprId column = builder_.add_coordinate(
      steps_.columns / m.vector, {steps_.column, m.vector, step_scope_, false, ElementId()});
  if (m.vector > 1) {
    column = pool.add(pool.scale(column, m.vector), builder_.add_lane(m.vector, "j", step_scope_));
  }
  const std::vector<ExprId> parts = pool.delinearise(column, extents);
  for (size_t a = 0; a < parts.size(); ++a) binding_[m.columns[a]] = parts[a];
}

// Guards of the stage and the group that this group's loops bind: those of a row become a
// predicate, those of a column the condition of its steps.
void GroupEmitter::bind_guards() {
  row_predicate_ = ElementBuilder::always();
  PredicateId all = row_predicate_;
  std::vector<Guard> guards = frame_.stage().guards;
  guards.insert(guards.end(), group_.guards.begin(), group_.guards.end());
  for (const Guard& guard : guards) {
    if (!builder_.binds(guard.expr, binding_)) continue;
    const ElementBuilder::Guarded here =
        builder_.guarded(std::span(&guard, 1), binding_, ElementBuilder::always());
    if (!here.condition.valid()) continue;
    const Element& condition = builder_.graph().at(here.condition);
    if (condition.lanes) {
      throw InternalError(
          fmt::format("kernel {}: a guard of the stage divides a vector", context_.kernel().name));
    }
    step_conditions_.push_back(here.condition);
    ++builder_.graph().at(here.condition).uses;
    all = builder_.guarded(std::span(&guard, 1), binding_, all).predicate;
    if (condition.scope != step_scope_) {
      row_predicate_ = builder_.guarded(std::span(&guard, 1), binding_, row_predicate_).predicate;
    }
  }
  builder_.graph().scopes[step_scope_.index].holds = all;
  builder_.graph().scopes[follow_scope_.index].holds = all;
}

void GroupEmitter::add_roots() {
  for (const Root& root : group_.roots) {
    if (position_.behind_rows) {
      if (root.kind == RootKind::kReduceRows) add_row_sum_store(root);
      continue;
    }
    switch (root.kind) {
      case RootKind::kReduce:
        root.cascade.rule == CascadeRule::kNone ? add_reduce(root) : add_follower(root);
        break;
      case RootKind::kPlace:
        add_place(root);
        break;
      case RootKind::kStore: {
        const bool late = std::any_of(reduces_.begin(), reduces_.end(),
                                      [&](const Reduce& r) { return r.root->value == root.value; });
        if (late) {
          late_stores_.push_back(&root);
        } else {
          add_store(root);
        }
        break;
      }
      case RootKind::kReduceRows:
        add_row_sum(root);
        break;
      case RootKind::kContract:
        throw InternalError(fmt::format("kernel {}: a root does not fit the stage's mapping",
                                        context_.kernel().name));
    }
  }
}

std::string GroupEmitter::per_row(const std::string& name) const {
  return in_flight() ? name + "[r]" : name;
}

// ---- roots ------------------------------------------------------------------------------------

GroupEmitter::Reduce GroupEmitter::reduce_of(const Root& root) {
  Reduce reduce;
  reduce.root = &root;
  const AccessNodeId producer = context_.graph().value(root.value).producer;
  const AccessNode node = context_.graph().node(producer);
  reduce.node = &context_.graph().node(producer);
  reduce.result = context_.graph().value(root.value).dtype;
  reduce.product = node.kind == AccessKind::kContraction;
  reduce.arg = node.kind == AccessKind::kArgReduce;
  if (const auto* a = std::get_if<ReduceAttributes>(&node.attributes)) reduce.kind = a->kind;
  if (const auto* a = std::get_if<WindowAttributes>(&node.attributes)) reduce.kind = a->kind;
  if (const auto* a = std::get_if<ArgReduceAttributes>(&node.attributes)) {
    reduce.kind = a->kind;
    reduce.last = a->last;
  }
  return reduce;
}

// The elements that a step adds; also settles the accumulator's type.
std::vector<ElementId> GroupEmitter::inputs_of(Reduce& reduce) {
  const AccessNode node = *reduce.node;
  const PredicateId holds = builder_.graph().at(step_scope_).holds;
  const ElementBuilder::Guarded exists = builder_.guarded(node.guards, binding_, row_predicate_);
  std::vector<ElementId> inputs;
  for (size_t i = 0; i < (reduce.product ? 2 : 1); ++i) {
    inputs.push_back(builder_.read_at(node.operands[i], binding_, exists.predicate));
  }
  const DType operand = builder_.graph().at(inputs[0]).dtype;
  reduce.state = reduce.product ? compute_type(reduce.result)
                 : reduce.arg   ? operand
                                : accumulator(reduce.kind, operand);
  reduce.type = register_type(reduce.state);
  reduce.functor = combine_functor(reduce.kind, reduce.state);
  reduce.start = identity_text(reduce.kind, reduce.state);
  if (reduce.arg) {
    reduce.type = "StitchArg<" + reduce.type + ">";
    reduce.functor =
        fmt::format("StitchArgPick<{}, {}>()", reduce.kind == ReduceKind::kMax, reduce.last);
    reduce.start = fmt::format("{{{}, -1}}", integer_literal(operand, 0));
    inputs.push_back(builder_.index_element(
        builder_.substituted(node.expression, binding_, exists.predicate), DType::kI32));
  } else {
    for (ElementId& input : inputs) input = builder_.converted(input, reduce.state);
  }
  const Predicate& known = builder_.graph().at(holds);
  const bool asked = std::any_of(known.begin(), known.end(), [&](const auto& condition) {
    return condition.first == exists.condition && !condition.second;
  });
  if (exists.condition.valid() && !asked) {
    ElementId& masked_input = reduce.arg ? inputs.back() : inputs.front();
    masked_input = masked(masked_input, exists, reduce);
  }
  return inputs;
}

void GroupEmitter::add_reduce(const Root& root) {
  Reduce reduce = reduce_of(root);
  const std::vector<ElementId> inputs = inputs_of(reduce);
  std::string wish = context_.wish(root.value);
  if (frame_.is_column() && wish.starts_with("row_")) wish = "column" + wish.substr(3);
  reduce.name = context_.names().take(wish);
  const bool lanes = builder_.graph().lane.valid();
  const bool along_columns = lanes && group_.mapping.vector > 1;
  if (along_columns && !reduce.arg &&
      (reduce.kind == ReduceKind::kSum || reduce.kind == ReduceKind::kProd)) {
    reduce.chains = context_.names().take("partial");
  }
  const std::string to = !reduce.chains.empty() ? reduce.chains + "[j]"
                         : row_width() > 1      ? reduce.name + "[j]"
                                                : per_row(reduce.name);
  Sink sink = accumulation(reduce, to);
  sink.scope = root.cascade.rule == CascadeRule::kNone ? step_scope_ : follow_scope_;
  sink.lanes = lanes;
  sink.inputs = inputs;
  builder_.add_sink(std::move(sink));
  reduces_.push_back(std::move(reduce));
}

// "sum[j] += x[j];"
Sink GroupEmitter::accumulation(const Reduce& reduce, const std::string& to) {
  Sink sink;
  const Reduce copy = reduce;
  sink.write = [copy, to](const std::vector<CudaText>& x) -> std::vector<std::string> {
    if (copy.arg) {
      return {fmt::format("{0} = {1}({0}, {2}{{{3}, {4}}});", to, copy.functor, copy.type,
                          x[0].text, x[1].text)};
    }
    if (copy.product && is_float(copy.state)) {
      return {fmt::format("{0} = {1}({2}, {3}, {0});", to,
                          copy.state == DType::kF64 ? "fma" : "fmaf", x[0].text, x[1].text)};
    }
    if (copy.product) {
      return {fmt::format("{0} = stitch_wrap_add({0}, stitch_wrap_multiply({1}, {2}));", to,
                          x[0].text, x[1].text)};
    }
    if (copy.kind == ReduceKind::kSum && is_float(copy.state))
      return {to + " += " + x[0].text + ";"};
    return {to + " = " + combine_text(copy.kind, copy.state, {to}, x[0]).text + ";"};
  };
  return sink;
}

// Points that do not exist contribute the identity.
ElementId GroupEmitter::masked(ElementId element, const ElementBuilder::Guarded& exists,
                               const Reduce& reduce) {
  return builder_.choice(exists.condition, element, reduce.arg ? "-1" : reduce.start);
}

void GroupEmitter::add_place(const Root& root) {
  const AccessValueId value = root.value;
  const DType dtype = context_.graph().value(value).dtype;
  const ElementId id = builder_.value_at(value, binding_, row_predicate_);
  const Place* const array = context_.place(value, PlaceKind::kRegisterArray);
  const Place* const single = context_.place(value, PlaceKind::kRegister);
  if (array != nullptr || (single != nullptr && row_values())) {
    std::string wish = context_.wish(value);
    if (array != nullptr && !context_.names().is_free(wish)) wish += "_row";
    const std::string name = context_.names().take(wish);
    std::string declared = name, here = name;
    const bool per_step = array != nullptr && steps_.count > 1;
    if (in_flight()) {
      declared += "[" + frame_.in_flight_constant() + "]";
      here += "[r]";
    }
    KeptRegister kept = {here};
    if (per_step) {
      kept.steps = steps_.count;
      kept.steps_constant = steps_.steps_constant;
      declared += "[" + steps_.steps_constant + "]";
    }
    here = kept.at(0);
    const bool lanes = builder_.graph().lane.valid();
    const bool plain = !in_flight() && !per_step && !lanes && array == nullptr;
    kept.lanes = lanes;
    if (array != nullptr) kept.level = Level::kStep;
    if (lanes)
      declared += "[" +
                  std::string(row_width() > 1 ? frame_.width_constant() : steps_.vector_constant) +
                  "]";
    if (!plain) declarations_.push_back(fmt::format("{} {};", register_type(dtype), declared));
    Element& element = builder_.graph().at(id);
    const ScopeId scope = array != nullptr ? step_scope_ : row_scope_;
    const bool movable = element.kind == ElementKind::kLoad ||
                         element.kind == ElementKind::kOperation ||
                         element.kind == ElementKind::kChoice;
    if (movable && element.target.empty() && element.name.empty() && element.scope == scope &&
        element.lanes == lanes) {
      (plain ? element.name : element.target) = here;
      ++element.uses;
    } else {
      Sink sink;
      sink.scope = scope;
      sink.lanes = lanes;
      sink.inputs = {id};
      const std::string type = plain ? "const " + register_type(dtype) + " " : "";
      sink.write = [here, lanes, type](const std::vector<CudaText>& x) -> std::vector<std::string> {
        return {type + here + (lanes ? "[j] = " : " = ") + x[0].text + ";"};
      };
      builder_.add_sink(std::move(sink));
    }
    kept_.emplace_back(value, std::move(kept));
  }
  const std::vector<ExprId> atoms = own_parts(value);
  for (const PlaceKind kind : {PlaceKind::kShared, PlaceKind::kScratch}) {
    const Place* const place = context_.place(value, kind);
    if (place == nullptr) continue;
    const Memory to =
        kind == PlaceKind::kShared ? context_.shared(value, *place) : context_.write(place->buffer);
    add_store_sink(to, builder_.place_offset(*place, value, atoms), id);
    stored_.push_back(value);
  }
}

void GroupEmitter::add_store(const Root& root) {
  const ElementId id = builder_.value_at(root.value, binding_, row_predicate_);
  std::vector<ExprId> index;
  for (const ExprId e : root.index) {
    index.push_back(builder_.substituted(e, binding_, row_predicate_));
  }
  const ExprId offset = context_.offset(root.buffer, index);
  add_store_sink(context_.write(root.buffer), offset, id);
}

void GroupEmitter::add_store_sink(const Memory& to, ExprId offset, ElementId id) {
  stitch::add_store(
      builder_,
      {to, offset, step_scope_, row_width() > 1 ? frame_.width_constant() : steps_.vector_constant},
      id);
}

}  // namespace stitch
