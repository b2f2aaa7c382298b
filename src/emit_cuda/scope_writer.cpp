#include "emit_cuda/scope_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit_cuda/cuda_types.h"
#include "emit_cuda/scalar_text.h"
#include "graph/error.h"

namespace stitch {
namespace {

constexpr int kUnknown = -2;
constexpr int kLongestInline = 10;  // operations in one expression

bool is_reduction(const Element& e) {
  return e.kind == ElementKind::kReduction || e.kind == ElementKind::kArgReduction;
}

std::string type_of(const Element& e) { return e.type.empty() ? register_type(e.dtype) : e.type; }

}  // namespace

// " + (row * 768 + column)": one parenthesised index, so that the compiler keeps a vector access
// whole.
std::string ScopeWriter::displacement(const CudaText& offset) {
  return offset.text == "0" ? "" : " + " + operand(offset, Precedence::kPrimary);
}

ScopeWriter::ScopeWriter(ElementBuilder& builder, CodeWriter& writer)
    : builder_(builder),
      graph_(builder.graph()),
      writer_(writer),
      index_(builder.context().pool(), graph_, [this](ElementId id) { return text(id).text; }) {
  named_.assign(graph_.elements.size(), 0);
  array_.assign(graph_.elements.size(), 0);
  phases_.assign(graph_.elements.size(), kUnknown);
  names_.resize(graph_.elements.size());
  by_scope_.resize(graph_.scopes.size());
  sinks_by_scope_.resize(graph_.scopes.size());
  decide_names();
  for (size_t i = 0; i < graph_.elements.size(); ++i) {
    const Element& e = graph_.elements[i];
    if (e.uses > 0 && named_[i] != 0) by_scope_[e.scope.index].push_back(i);
  }
  for (size_t i = 0; i < graph_.sinks.size(); ++i) {
    sinks_by_scope_[graph_.sinks[i].scope.index].push_back(i);
  }
  find_arrays();
}

// A name for what is used twice, what another loop computes, what must be a statement, and what
// would make an expression too long to read.
void ScopeWriter::decide_names() {
  const size_t count = graph_.elements.size();
  std::vector<int> sizes(count, 1);
  // Elements that nothing reaches (a folded choice) must not count as users.
  for (size_t i = count; i-- > 0;) {
    Element& e = graph_.elements[i];
    if (e.uses > 0) continue;
    for (const auto* list : {&e.operands, &e.conditions, &e.others}) {
      for (const ElementId id : *list) --graph_.at(id).uses;
    }
  }
  for (size_t i = 0; i < count; ++i) {
    const Element& e = graph_.elements[i];
    for (const ElementId id : e.operands) {
      if (named_[id.index] == 0) sizes[i] += sizes[id.index];
    }
    switch (e.kind) {
      case ElementKind::kLiteral:
      case ElementKind::kIndex:
      case ElementKind::kRegister:
        break;
      case ElementKind::kCondition:
        named_[i] = e.uses > 2;
        break;
      case ElementKind::kGathered:
      case ElementKind::kReduction:
      case ElementKind::kArgReduction:
        named_[i] = 1;
        break;
      case ElementKind::kLoad:
        named_[i] = e.vector || e.uses > 1;
        break;
      case ElementKind::kOperation:
      case ElementKind::kChoice:
        named_[i] = e.uses > 1 || sizes[i] > kLongestInline;
        break;
    }
    if (e.whole || !e.target.empty() || !e.name.empty()) named_[i] = 1;
  }
  // What the `if` around a scope asks stands in front of it.
  for (size_t s = 0; s < graph_.scopes.size(); ++s) {
    for (const auto& [condition, negated] : scope_holds(ScopeId(s))) {
      if (graph_.at(condition).scope == ScopeId(s)) named_[condition.index] = 0;
    }
  }
  // A value of an outer loop, or of all lanes alike, is computed where it belongs.
  const auto hoist = [&](ElementId id, ScopeId scope, bool lanes) {
    const Element& e = graph_.at(id);
    const bool trivial = e.kind == ElementKind::kLiteral || e.kind == ElementKind::kIndex ||
                         e.kind == ElementKind::kRegister || e.kind == ElementKind::kCondition;
    if (!trivial && (e.scope != scope || e.lanes != lanes)) named_[id.index] = 1;
  };
  for (const Element& e : graph_.elements) {
    if (e.uses == 0) continue;
    const ScopeId inside = is_reduction(e) ? e.loop : e.scope;
    for (const ElementId id : e.operands) hoist(id, inside, e.lanes);
  }
  for (const Sink& sink : graph_.sinks) {
    for (const ElementId id : sink.inputs) hoist(id, sink.scope, sink.lanes);
  }
}

// ---- order ------------------------------------------------------------------------------------

int ScopeWriter::ready_all(const Element& e, ScopeId scope) {
  int phase = kStart;
  for (const auto* list : {&e.operands, &e.conditions, &e.others}) {
    for (const ElementId id : *list) phase = std::max(phase, ready(id, scope));
  }
  return phase;
}

int ScopeWriter::ready(ElementId id, ScopeId scope) {
  const auto key = std::pair(id.index, scope.index);
  if (const auto found = ready_.find(key); found != ready_.end()) return found->second;
  const Element& e = graph_.at(id);
  int phase = kStart;
  if (e.scope == scope) {
    phase = is_named(id) ? phase_of(id) : ready_all(e, scope);
  } else if (!graph_.encloses(e.scope, scope)) {
    phase = ready_all(e, scope);  // inside of a loop of `scope`
  }
  ready_.emplace(key, phase);
  return phase;
}

int ScopeWriter::phase_of(ElementId id) {
  int& phase = phases_[id.index];
  if (phase != kUnknown) return phase;
  const Element& e = graph_.at(id);
  const int before = ready_all(e, e.scope);
  const bool plain = !e.lanes || e.vector || is_reduction(e);
  phases_[id.index] = plain ? plain_phase(before) : lane_phase(before);
  return phases_[id.index];
}

int ScopeWriter::phase_of_sink(const Sink& sink) {
  int before = kStart;
  for (const auto* list : {&sink.inputs, &sink.others}) {
    for (const ElementId id : *list) before = std::max(before, ready(id, sink.scope));
  }
  return sink.lanes ? lane_phase(before) : plain_phase(before);
}

int ScopeWriter::phase_of_accumulation(const Element& reduction) {
  const int before = ready_all(reduction, reduction.loop);
  return reduction.lanes ? lane_phase(before) : plain_phase(before);
}

// Lanes computed in one `for j` and used in another one, or in a loop inside, are kept in an array.
void ScopeWriter::find_arrays() {
  if (!graph_.lane.valid()) return;
  for (size_t i = 0; i < graph_.elements.size(); ++i) {
    const Element& e = graph_.elements[i];
    if (e.uses == 0 || named_[i] == 0) continue;
    if (e.whole && e.lanes) array_[i] = 1;
    const bool loops = is_reduction(e);
    const ScopeId inside = loops ? e.loop : e.scope;
    const int phase = loops ? phase_of_accumulation(e) : phase_of(ElementId(i));
    for (const auto* list : {&e.operands, &e.conditions, &e.others}) {
      for (const ElementId id : *list) mark_arrays(id, inside, phase);
    }
  }
  for (const Sink& sink : graph_.sinks) {
    for (const ElementId id : sink.inputs) mark_arrays(id, sink.scope, phase_of_sink(sink));
  }
}

void ScopeWriter::mark_arrays(ElementId used, ScopeId scope, int phase) {
  const Element& e = graph_.at(used);
  if (is_named(used)) {
    if (e.lanes && (e.scope != scope || phase_of(used) != phase)) array_[used.index] = 1;
    return;
  }
  for (const auto* list : {&e.operands, &e.conditions, &e.others}) {
    for (const ElementId id : *list) mark_arrays(id, scope, phase);
  }
}

std::vector<ScopeWriter::Item> ScopeWriter::items(ScopeId scope) {
  std::vector<Item> result;
  for (const size_t i : by_scope_[scope.index]) {
    result.push_back({phase_of(ElementId(i)), i, ElementId(i), 0, ElementId()});
  }
  for (const size_t i : sinks_by_scope_[scope.index]) {
    const int phase = phase_of_sink(graph_.sinks[i]);
    result.push_back({phase, graph_.elements.size() + i, ElementId(), i, ElementId()});
  }
  if (const ElementId id = graph_.at(scope).reduction; id.valid()) {
    result.push_back({phase_of_accumulation(graph_.at(id)),
                      graph_.elements.size() + graph_.sinks.size(), ElementId(), 0, id});
  }
  std::stable_sort(result.begin(), result.end(), [](const Item& a, const Item& b) {
    return std::pair(a.phase, a.order) < std::pair(b.phase, b.order);
  });
  return result;
}

bool ScopeWriter::has_statements(ScopeId scope) const {
  return !by_scope_[scope.index].empty() || !sinks_by_scope_[scope.index].empty();
}

// ---- statements -------------------------------------------------------------------------------

const Predicate& ScopeWriter::scope_holds(ScopeId scope) const {
  return graph_.at(graph_.at(scope).holds);
}

void ScopeWriter::write(ScopeId scope) {
  const Predicate outside = std::exchange(active_, scope_holds(scope));
  const std::vector<Item> all = items(scope);
  for (size_t i = 0; i < all.size();) {
    if (all[i].phase % 2 == 0) {
      const ElementId id = all[i].element;
      if (id.valid() && is_reduction(graph_.at(id))) {
        write_loop(id);
      } else if (id.valid() && graph_.at(id).vector) {
        write_vector_load(id);
      } else {
        for (const std::string& line : statements(all[i])) writer_.line(line);
      }
      ++i;
      continue;
    }
    std::vector<std::string> lines;
    std::vector<std::string> arrays;
    const int phase = all[i].phase;
    for (; i < all.size() && all[i].phase == phase; ++i) {
      const ElementId id = all[i].element;
      if (id.valid() && array_[id.index] != 0 && graph_.at(id).target.empty()) {
        arrays.push_back(fmt::format("{} {}[{}];", type_of(graph_.at(id)), name_of(id), vector_));
      }
      for (std::string& line : statements(all[i])) lines.push_back(std::move(line));
    }
    for (const std::string& line : arrays) writer_.line(line);
    writer_.pragma("unroll");
    const std::string head = fmt::format("for (int j = 0; j < {}; ++j)", vector_);
    if (lines.size() == 1 && head.size() + lines[0].size() < 90) {
      writer_.line(head + " " + lines[0]);
    } else {
      const auto block = writer_.block(head);
      for (const std::string& line : lines) writer_.line(line);
    }
  }
  active_ = outside;
}

std::vector<std::string> ScopeWriter::statements(const Item& item) {
  if (item.element.valid()) return declaration(item.element);
  if (item.accumulate.valid()) return {accumulate_text(item.accumulate)};
  const Sink& sink = graph_.sinks[item.sink];
  std::vector<CudaText> texts;
  for (const ElementId id : sink.inputs) texts.push_back(text(id));
  if (sink.write_offset.valid()) {
    const CudaText offset = index_.text(sink.write_offset);
    texts.push_back({displacement(offset), Precedence::kSum});
    texts.push_back(offset);
  }
  return sink.write(texts);
}

std::vector<std::string> ScopeWriter::declaration(ElementId id) {
  const Element& e = graph_.at(id);
  const std::string value = expression(id).text;
  if (!e.target.empty()) {
    return {fmt::format("{}{} = {};", e.target, e.lanes ? "[j]" : "", value)};
  }
  if (e.lanes && array_[id.index] != 0) return {fmt::format("{}[j] = {};", name_of(id), value)};
  const std::string type = e.kind == ElementKind::kGathered ? "int" : type_of(e);
  return {fmt::format("const {} {} = {};", type, name_of(id), value)};
}

void ScopeWriter::write_vector_load(ElementId id) {
  const Element& e = graph_.at(id);
  if (e.target.empty()) {
    writer_.line(fmt::format("{} {}[{}];", register_type(e.dtype), name_of(id), vector_));
  }
  const std::string from = e.memory.pointer + displacement(index_.text(e.expr));
  const std::string when = condition_text(graph_.at(e.predicate), active_);
  writer_.line(fmt::format("{}stitch_load({}, {});", when.empty() ? "" : "if (" + when + ") ",
                           name_of(id), from));
}

void ScopeWriter::write_loop(ElementId id) {
  const Element& e = graph_.at(id);
  const bool arg = e.kind == ElementKind::kArgReduction;
  const DType held = graph_.at(e.operands[0]).dtype;
  const std::string type = arg ? "StitchArg<" + register_type(held) + ">" : register_type(e.dtype);
  const ReduceKind kind = e.product ? ReduceKind::kSum : e.reduce;
  const std::string start =
      arg ? "{" + integer_literal(held, 0) + ", -1}" : identity_text(kind, e.dtype);
  if (!e.lanes) {
    writer_.line(fmt::format("{} {} = {};", type, name_of(id), start));
  } else {
    writer_.line(fmt::format("{} {}[{}];", type, name_of(id), vector_));
    writer_.pragma("unroll");
    writer_.line(fmt::format("for (int j = 0; j < {}; ++j) {}[j] = {};", vector_, name_of(id),
                             arg ? type + start : start));
  }
  const auto nest = [&](auto&& self, size_t depth) -> void {
    if (depth == e.loops.size()) {
      write(e.loop);
      return;
    }
    const auto& [variable, extent] = e.loops[depth];
    const auto block =
        writer_.block(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", variable, extent));
    self(self, depth + 1);
  };
  nest(nest, 0);
}

std::string ScopeWriter::accumulate_text(ElementId id) {
  const Element& e = graph_.at(id);
  const std::string to = name_of(id) + (e.lanes ? "[j]" : "");
  const CudaText x = text(e.operands[0]);
  if (e.kind == ElementKind::kArgReduction) {
    const bool largest = e.reduce == ReduceKind::kMax;
    const std::string type = "StitchArg<" + register_type(graph_.at(e.operands[0]).dtype) + ">";
    return fmt::format("{0} = StitchArgPick<{1}, {2}>()({0}, {3}{{{4}, {5}}});", to, largest,
                       e.last, type, x.text, text(e.operands[1]).text);
  }
  if (!e.product) {
    if (e.reduce == ReduceKind::kSum && is_float(e.dtype)) return to + " += " + x.text + ";";
    return to + " = " + combine_text(e.reduce, e.dtype, {to}, x).text + ";";
  }
  const CudaText y = text(e.operands[1]);
  if (is_float(e.dtype)) {
    const std::string multiply_add = e.dtype == DType::kF64 ? "fma" : "fmaf";
    return fmt::format("{0} = {1}({2}, {3}, {0});", to, multiply_add, x.text, y.text);
  }
  return fmt::format("{0} = stitch_wrap_add({0}, stitch_wrap_multiply({1}, {2}));", to, x.text,
                     y.text);
}

}  // namespace stitch
