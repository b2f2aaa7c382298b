// Elements -> statements: which elements get a name, in which order they stand, and their text.
//
// Plain statements and loops over the lanes of the vector alternate in phases: loads first, then
// `for j`, then what needs all lanes at once (vector stores, loops of reductions), and so on.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "emit_cuda/code_writer.h"
#include "emit_cuda/element_builder.h"
#include "emit_cuda/index_text.h"

namespace stitch {

class ScopeWriter {
 public:
  ScopeWriter(ElementBuilder& builder, CodeWriter& writer);

  // Prints all statements that belong to `scope` itself (not to loops of the group inside of it).
  void write(ScopeId scope);
  // The text of an element where it is used; valid in its scope and inside of it.
  CudaText text(ElementId id);
  static std::string displacement(const CudaText& offset);
  CudaText offset_text(ExprId expr) const { return index_.text(expr); }
  std::string index_text(ExprId expr) const { return index_.text(expr).text; }
  std::string guard_text(const Guard& guard) const { return index_.guard(guard); }
  std::string vector_name() const { return vector_; }
  // The name of the constant that holds the vector's width.
  void set_vector_name(std::string name) { vector_ = std::move(name); }
  bool has_statements(ScopeId scope) const;

 private:
  struct Item {
    int phase = 0;
    size_t order = 0;
    ElementId element;     // its declaration; or
    size_t sink = 0;       // one of the graph's sinks; or
    ElementId accumulate;  // one more term of the reduction whose loop this is
  };
  static constexpr int kStart = -1;

  void decide_names();
  bool is_named(ElementId id) const { return named_[id.index] != 0; }
  int phase_of(ElementId id);
  int phase_of_sink(const Sink& sink);
  int phase_of_accumulation(const Element& reduction);
  // The phase of `scope` after which the element's text can be used.
  int ready(ElementId id, ScopeId scope);
  int ready_all(const Element& element, ScopeId scope);
  static int plain_phase(int ready) { return ready < 0 ? 0 : ready + ready % 2; }
  static int lane_phase(int ready) { return ready < 0 ? 1 : ready + (ready + 1) % 2; }
  void find_arrays();
  void mark_arrays(ElementId used, ScopeId scope, int phase);
  std::vector<Item> items(ScopeId scope);

  std::vector<std::string> statements(const Item& item);
  std::vector<std::string> declaration(ElementId id);
  void write_loop(ElementId id);
  void write_vector_load(ElementId id);
  CudaText expression(ElementId id);
  CudaText load_text(const Element& element);
  CudaText choice_text(const Element& element);
  std::string condition_text(const Predicate& predicate, const Predicate& known);
  std::string accumulate_text(ElementId id);
  std::string name_of(ElementId id);
  bool implied(PredicateId predicate) const;
  const Predicate& scope_holds(ScopeId scope) const;

  ElementBuilder& builder_;
  ElementGraph& graph_;
  CodeWriter& writer_;
  IndexText index_;
  std::string vector_ = "kVector";
  std::vector<char> named_;
  std::vector<char> array_;  // lanes that are needed outside of their own phase
  std::vector<int> phases_;  // of named elements; -2: not yet known
  std::vector<std::string> names_;
  std::vector<std::vector<size_t>> by_scope_;  // elements
  std::vector<std::vector<size_t>> sinks_by_scope_;
  std::map<std::pair<uint32_t, uint32_t>, int> ready_;
  Predicate active_;  // what the text being built is guarded by
};

}  // namespace stitch
