// Values of the plan -> elements: recursion from a value through the reads of its nodes to what is
// loaded, kept in registers or placed by earlier roots.
#pragma once
#include <span>

#include "emit_cuda/element_graph.h"
#include "emit_cuda/kernel_context.h"

namespace stitch {

class ElementBuilder {
 public:
  explicit ElementBuilder(KernelContext& context);

  ElementGraph& graph() { return graph_; }
  const ElementGraph& graph() const { return graph_; }
  KernelContext& context() { return context_; }

  // A new atom of the emitted loops; `coordinate` says how it prints.
  ExprId add_coordinate(int64_t extent, Coordinate coordinate);
  // The vector's lanes: an atom of `width` that prints as `text`; none when the width is 1.
  ExprId add_lane(int width, const std::string& text, ScopeId scope);

  // Atoms of the plan -> expressions over coordinates.
  using Binding = IndexPool::AtomMap;
  // The scope of each level, and where the group itself stands: values kept in registers can only
  // be read there, or at whole steps of its columns from there.
  void set_levels(const std::vector<ScopeId>& scopes) { levels_ = scopes; }
  void set_own(const Binding& own, const GroupMapping& columns) {
    own_ = own;
    columns_ = &columns;
  }
  // The number of the row among those of its block; none: one row.
  void set_row_in_block(ExprId row) { row_in_block_ = row; }

  ElementId value_at(AccessValueId value, const Binding& binding, PredicateId predicate);
  ElementId element_at(AccessValueId value, const std::vector<ExprId>& index,
                       PredicateId predicate);
  ElementId read_at(const Read& read, const Binding& binding, PredicateId predicate);
  // A node's reduction as loops of one thread.
  ElementId node_at(AccessNodeId node, AccessValueId value, const Binding& binding,
                    PredicateId predicate);
  ElementId index_element(ExprId expr, DType dtype);
  ElementId load(const Memory& memory, ExprId offset, DType dtype, AccessValueId value,
                 PredicateId predicate);
  // The offset of a value's element in its place.
  ExprId place_offset(const Place& place, AccessValueId value, const std::vector<ExprId>& atoms);
  std::vector<AtomId> atoms_of(AccessValueId value) const;

  // `predicate` and all guards; none of both when it can never hold.
  struct Guarded {
    bool possible = true;
    PredicateId predicate;
    ElementId condition;  // of the guards alone; none: they always hold
  };
  Guarded guarded(std::span<const Guard> guards, const Binding& binding, PredicateId predicate);
  static PredicateId always() { return PredicateId(size_t{0}); }
  ExprId substituted(ExprId expr, const Binding& binding, PredicateId predicate);
  // The deepest loop that an expression depends on, and whether it depends on the lane.
  struct Position {
    ScopeId scope;
    bool lanes = false;
  };
  Position position(ExprId expr) const;
  ScopeId outermost() const { return ScopeId(size_t{0}); }
  // Whether the guards hold for all points where every atom is bound (else they are ignored).
  bool binds(ExprId expr, const Binding& binding) const;
  // condition ? element : otherwise
  ElementId choice(ElementId condition, ElementId element, const std::string& otherwise);
  ElementId converted(ElementId element, DType dtype);
  void add_sink(Sink sink);
  // The sink depends on what the expression refers to; it must be printed inside of those loops.
  void refer(Sink& sink, ExprId expr);
  // Marks nodes whose results reach a rounding to integer.
  void mark_uncontracted(std::span<const AccessNodeId> nodes);

 private:
  ElementId add(Element element);
  ElementId constant(AccessValueId value);
  ElementId elementwise(const AccessNode& node, AccessValueId value, const Binding& binding,
                        PredicateId predicate);
  ElementId reduction(const AccessNode& node, AccessValueId value, const Binding& binding,
                      PredicateId predicate);
  // A quotient by a divisor that an outer loop shares gets its reciprocal as a third operand.
  void share_reciprocal(Element& quotient);
  // Binds the atoms to the variables of new loops.
  void add_loops(Element& reduction, const std::vector<AtomId>& atoms, Binding& binding);
  std::vector<Guard> scan_guards(const AccessNode& node, const Binding& outer,
                                 const Binding& inner);
  ElementId condition(std::vector<Guard> guards);
  PredicateId conjunction(PredicateId predicate, ElementId condition, bool negated);
  ExprId gathered(ReadId read, const Binding& binding, PredicateId predicate);
  // A value that an earlier root has placed; none when there is no place to read it from.
  ElementId placed(AccessValueId value, const std::vector<ExprId>& atoms, PredicateId predicate);
  void reach(Element& element, ScopeId scope, bool lanes);
  void reach(Element& element, ExprId expr);
  void reach(Element& element, PredicateId predicate);
  Guard without_lane(const Guard& guard);

  KernelContext& context_;
  ElementGraph graph_;
  std::vector<ScopeId> levels_;
  Binding own_;
  const GroupMapping* columns_ = nullptr;
  ExprId row_in_block_;
  using Key = std::pair<AccessValueId, std::vector<uint32_t>>;
  std::map<Key, ElementId> known_;
  std::map<std::vector<int64_t>, ElementId> conditions_;
  std::map<uint32_t, AtomId> gathered_atoms_;   // by element
  std::map<ElementId, ElementId> reciprocals_;  // by divisor
  std::set<AccessNodeId> uncontracted_;
};

}  // namespace stitch
