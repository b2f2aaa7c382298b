// Scalars that a group computes at one point of its loops, before they become text: a graph of
// loads, operations and choices, each in the loop where it belongs.
//
// Worked example, softmax's second group, row and column bound to the loops:
//   load scores[row, column]   per lane of the step loop
//   register row_max           in the row loop
//   operation sub, exp         per lane of the step loop
// The same value at the same index is one element, so that it is computed once.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "emit_cuda/cuda_text.h"
#include "graph/attributes.h"
#include "graph/op.h"
#include "planner/access/access_graph.h"

namespace stitch {

using ElementId = Id<struct ElementTag>;
using ScopeId = Id<struct ScopeTag>;
using PredicateId = Id<struct PredicateTag>;  // 0: always

// A loop body, or what lies outside of the loops of its children.
struct Scope {
  ScopeId parent;
  int depth = 0;
  PredicateId holds;    // what the enclosing `if` of the scope has already asked
  ElementId reduction;  // the reduction whose loop this is; none for loops of the group
};

enum class ElementKind : uint8_t {
  kLiteral,
  kIndex,      // the value of an index expression
  kCondition,  // all guards hold
  kGathered,   // an index that a tensor holds: wrapped once if negative, clamped
  kLoad,       // an element of memory
  kRegister,   // kept in registers by an earlier root or loop
  kOperation,  // element-wise
  kChoice,     // the first alternative whose condition holds; one alternative more than conditions
  kReduction,  // over a loop of its own
  kArgReduction,
};

// Where loads and stores go: a kernel argument, or shared memory.
struct Memory {
  std::string pointer;
  DType dtype = DType::kF32;
  bool aligned = true;  // to 16 bytes
};

struct Element {
  ElementKind kind = ElementKind::kLiteral;
  DType dtype = DType::kF32;
  AccessValueId value;  // for its name
  ScopeId scope;
  bool lanes = false;         // depends on the lane of the vector
  bool vector = false;        // kLoad: all lanes at once
  std::string text;           // kLiteral, kRegister
  ExprId expr;                // kIndex; kLoad: the offset
  Memory memory;              // kLoad
  std::vector<Guard> guards;  // kCondition
  Range range;                // kGathered
  Op op = Op::k_add;          // kOperation
  Attributes attributes;      // kOperation
  bool uncontracted = false;  // kOperation
  ReduceKind reduce = ReduceKind::kSum;
  bool last = false;     // kArgReduction
  bool product = false;  // kReduction: adds the product of two operands
  ScopeId loop;          // reductions
  std::vector<std::pair<std::string, int64_t>> loops;  // reductions: variables and extents
  std::vector<ElementId> operands;
  std::vector<ElementId> conditions;  // kChoice
  PredicateId predicate;              // memory is touched only where it holds
  std::vector<ElementId> others;      // what index expressions and the predicate refer to
  int uses = 0;
  // Filled by roots: the variable that the element is assigned to (declared elsewhere), and that
  // all lanes are needed at once.
  std::string target;
  bool whole = false;
  std::string name;  // given by a root; declared where the element is
  std::string type;  // its C++ type where it is not the register type of `dtype`
};

// What happens with elements: a store, a partial sum. `write` gets the texts of `inputs`; where
// `write_offset` is given, it gets " + offset" and the offset itself behind them.
struct Sink {
  ScopeId scope;
  bool lanes = false;
  std::vector<ElementId> inputs;
  std::vector<ElementId> others;
  ExprId write_offset;
  std::function<std::vector<std::string>(const std::vector<CudaText>&)> write;
};

// One conjunction of conditions, some of them negated.
using Predicate = std::vector<std::pair<ElementId, bool>>;  // sorted; true: negated

// A variable of the emitted loops that index expressions are printed with: text = unit * atom.
struct Coordinate {
  std::string text;
  int64_t unit = 1;
  ScopeId scope;
  bool lane = false;
  ElementId gathered;  // an index that was read, instead of a loop variable
};

struct ElementGraph {
  std::vector<Element> elements;
  std::vector<Scope> scopes;
  std::vector<Sink> sinks;
  std::vector<Predicate> predicates;
  std::map<AtomId, Coordinate> coordinates;
  std::map<int64_t, std::string> factors;  // extents that print as constants
  AtomId lane;                             // the atom of the vector's lanes; none: scalars only
  int width = 1;                           // of the vector

  Element& at(ElementId id) { return elements[id.index]; }
  const Element& at(ElementId id) const { return elements[id.index]; }
  const Scope& at(ScopeId id) const { return scopes[id.index]; }
  const Predicate& at(PredicateId id) const { return predicates[id.index]; }
  ScopeId add_scope(ScopeId parent);
  // The inner one of two scopes on one path. InternalError when neither encloses the other.
  ScopeId deeper(ScopeId a, ScopeId b) const;
  bool encloses(ScopeId outer, ScopeId inner) const;
};

}  // namespace stitch
