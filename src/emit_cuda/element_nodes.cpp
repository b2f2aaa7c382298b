// Nodes -> elements: operations, index values, and reductions as loops of one thread.
#include <fmt/format.h>

#include <algorithm>

#include "emit_cuda/cuda_types.h"
#include "emit_cuda/element_builder.h"
#include "emit_cuda/scalar_text.h"
#include "graph/error.h"

namespace stitch {
namespace {

// Whether rounding errors of the operands show at a rounding to integer behind this op.
bool passes_rounding_on(Op op) {
  switch (op) {
    case Op::k_add:
    case Op::k_sub:
    case Op::k_mul:
    case Op::k_div:
    case Op::k_neg:
    case Op::k_abs:
    case Op::k_min:
    case Op::k_max:
    case Op::k_select:
    case Op::k_floor:
    case Op::k_ceil:
    case Op::k_round:
      return true;
    default:  // transcendental functions, comparisons and the like end the chain
      return false;
  }
}

ReduceKind reduce_kind(const AccessNode& node) {
  if (const auto* a = std::get_if<ReduceAttributes>(&node.attributes)) return a->kind;
  if (const auto* a = std::get_if<WindowAttributes>(&node.attributes)) return a->kind;
  if (const auto* a = std::get_if<CumulativeAttributes>(&node.attributes)) return a->kind;
  if (const auto* a = std::get_if<ArgReduceAttributes>(&node.attributes)) return a->kind;
  return ReduceKind::kSum;
}

}  // namespace

void ElementBuilder::mark_uncontracted(std::span<const AccessNodeId> nodes) {
  const AccessGraph& access = context_.graph();
  for (size_t i = nodes.size(); i-- > 0;) {
    const AccessNode& node = access.node(nodes[i]);
    if (node.kind != AccessKind::kElementwise || node.results.empty()) continue;
    const bool rounds = node.op == Op::k_floor || node.op == Op::k_ceil || node.op == Op::k_round;
    bool to_integer = false;
    if (node.op == Op::k_cast && !is_float(access.value(node.results[0]).dtype)) {
      const Read& read = node.operands[0];
      to_integer = is_float(access.value(read.pieces[0].source).dtype);
    }
    const bool marked = uncontracted_.contains(nodes[i]) && passes_rounding_on(node.op);
    if (!rounds && !to_integer && !marked) continue;
    for (const Read& read : node.operands) {
      for (const Piece& piece : read.pieces) {
        if (context_.computes(piece.source)) {
          uncontracted_.insert(access.value(piece.source).producer);
        }
      }
    }
  }
}

ElementId ElementBuilder::node_at(AccessNodeId id, AccessValueId value, const Binding& binding,
                                  PredicateId predicate) {
  const AccessNode node = context_.graph().node(id);  // a copy: reads may grow the graph
  switch (node.kind) {
    case AccessKind::kElementwise:
      return elementwise(node, value, binding, predicate);
    case AccessKind::kIndex:
      return index_element(substituted(node.expression, binding, predicate),
                           context_.graph().value(value).dtype);
    case AccessKind::kReduce:
    case AccessKind::kArgReduce:
    case AccessKind::kContraction:
    case AccessKind::kScan:
      return reduction(node, value, binding, predicate);
    case AccessKind::kSort:
    case AccessKind::kScatter:
    case AccessKind::kAssembly:
      break;
  }
  throw InternalError(
      fmt::format("kernel {}: {} has no per-thread form", context_.kernel().name, name(node.op)));
}

ElementId ElementBuilder::elementwise(const AccessNode& node, AccessValueId value,
                                      const Binding& binding, PredicateId predicate) {
  Element element;
  element.kind = ElementKind::kOperation;
  element.dtype = context_.graph().value(value).dtype;
  element.value = value;
  element.op = node.op;
  element.attributes = node.attributes;
  for (const Read& read : node.operands) {
    element.operands.push_back(read_at(read, binding, predicate));
  }
  const bool copies = node.op == Op::k_bitcast || node.op == Op::k_cast;
  if (copies && graph_.at(element.operands[0]).dtype == element.dtype) {
    return element.operands[0];
  }
  element.uncontracted =
      value.valid() && uncontracted_.contains(context_.graph().value(value).producer);
  if (node.op == Op::k_div) share_reciprocal(element);
  return add(std::move(element));
}

// Worked example, softmax: probs = power / row_sum, one row_sum per row: the row computes 1 /
// row_sum once, and an element costs a product instead of a division.
void ElementBuilder::share_reciprocal(Element& quotient) {
  if (compute_type(quotient.dtype) != DType::kF32 || quotient.uncontracted) return;
  const ElementId divisor = quotient.operands[1];
  const Element& x = graph_.at(quotient.operands[0]);
  const Element& d = graph_.at(divisor);
  if (d.kind == ElementKind::kLiteral) return;
  const bool shared = (d.scope != x.scope && graph_.encloses(d.scope, x.scope)) ||
                      (d.scope == x.scope && x.lanes && !d.lanes);
  if (!shared) return;
  const auto [it, is_new] = reciprocals_.emplace(divisor, ElementId());
  if (is_new) {
    Element reciprocal;
    reciprocal.kind = ElementKind::kOperation;
    reciprocal.dtype = DType::kF32;
    reciprocal.op = Op::k_div;
    reciprocal.name = context_.names().take("reciprocal");
    reciprocal.type = "StitchReciprocal";
    reciprocal.operands = {divisor};
    it->second = add(std::move(reciprocal));
  }
  quotient.operands.push_back(it->second);
}

ElementId ElementBuilder::converted(ElementId id, DType dtype) {
  if (dtype == graph_.at(id).dtype || dtype == compute_type(graph_.at(id).dtype)) return id;
  Element element;
  element.kind = ElementKind::kOperation;
  element.dtype = dtype;
  element.op = Op::k_cast;
  element.attributes = CastAttributes{};
  element.value = graph_.at(id).value;
  element.operands = {id};
  return add(std::move(element));
}

ElementId ElementBuilder::choice(ElementId condition, ElementId id, const std::string& otherwise) {
  Element literal;
  literal.dtype = graph_.at(id).dtype;
  literal.text = otherwise;
  Element element;
  element.kind = ElementKind::kChoice;
  element.dtype = literal.dtype;
  element.conditions = {condition};
  element.operands = {id, add(std::move(literal))};
  return add(std::move(element));
}

void ElementBuilder::add_loops(Element& reduction, const std::vector<AtomId>& atoms,
                               Binding& binding) {
  IndexPool& pool = context_.pool();
  for (const AtomId atom : atoms) {
    const int64_t extent = pool.atom(atom).extent;
    constexpr const char* kVariables[] = {"u", "v", "w"};
    std::string wish = identifier(pool.atom(atom).name);
    if (wish.empty()) wish = kVariables[std::min<size_t>(reduction.loops.size(), 2)];
    const std::string variable = context_.names().take(wish);
    binding[atom] = add_coordinate(extent, {variable, 1, reduction.loop, false, ElementId()});
    if (extent > 1) reduction.loops.emplace_back(variable, extent);
  }
}

// A cumulative sum at t adds up what stands at s <= t (s < t, s >= t, s > t).
std::vector<Guard> ElementBuilder::scan_guards(const AccessNode& node, const Binding& outer,
                                               const Binding& inner) {
  const auto* scan = std::get_if<CumulativeAttributes>(&node.attributes);
  if (node.kind != AccessKind::kScan || scan == nullptr) return {};
  IndexPool& pool = context_.pool();
  std::vector<ExprId> at, from;
  std::vector<int64_t> extents;
  int64_t count = 1;
  for (const AtomId atom : node.reduced) {
    at.push_back(outer.at(atom));
    from.push_back(inner.at(atom));
    extents.push_back(pool.atom(atom).extent);
    count *= extents.back();
  }
  const ExprId t = pool.linearise(at, extents), s = pool.linearise(from, extents);
  const ExprId distance = scan->reverse ? pool.subtract(s, t) : pool.subtract(t, s);
  return {{distance, scan->exclusive ? 1 : 0, count}};
}

ElementId ElementBuilder::reduction(const AccessNode& node, AccessValueId value,
                                    const Binding& outer, PredicateId predicate) {
  Element element;
  const bool arg = node.kind == AccessKind::kArgReduce;
  element.kind = arg ? ElementKind::kArgReduction : ElementKind::kReduction;
  element.value = value;
  element.reduce = reduce_kind(node);
  element.product = node.kind == AccessKind::kContraction;
  element.scope = levels_[static_cast<size_t>(Level::kRow)];
  for (const AtomId atom : node.axes) {
    if (const auto bound = outer.find(atom); bound != outer.end()) reach(element, bound->second);
  }
  reach(element, predicate);
  element.predicate = predicate;
  element.loop = graph_.add_scope(element.scope);

  Binding inner = outer;
  add_loops(element, node.reduced, inner);
  std::vector<Guard> guards = node.guards;
  std::vector<Guard> scan = scan_guards(node, outer, inner);
  // The scan's guards are already over coordinates; substitution leaves those as they are.
  guards.insert(guards.end(), scan.begin(), scan.end());
  const Guarded exists = guarded(guards, inner, predicate);

  std::vector<ElementId> body;
  for (size_t i = 0; i < (element.product ? 2 : 1); ++i) {
    body.push_back(read_at(node.operands[i], inner, exists.predicate));
  }
  const DType result = context_.graph().value(value).dtype;
  const DType operand = graph_.at(body[0]).dtype;
  element.dtype = element.product ? compute_type(result) : accumulator(element.reduce, operand);
  if (arg) {
    element.dtype = DType::kI32;  // of the position
    // Of a window it is the first one.
    const auto* reduce = std::get_if<ArgReduceAttributes>(&node.attributes);
    element.last = reduce != nullptr && reduce->last;
    body.push_back(
        index_element(substituted(node.expression, inner, exists.predicate), DType::kI32));
    if (exists.condition.valid()) body[1] = choice(exists.condition, body[1], "-1");
  } else {
    for (ElementId& operand_element : body) {
      operand_element = converted(operand_element, element.dtype);
    }
    if (exists.condition.valid()) {
      const ReduceKind kind = element.product ? ReduceKind::kSum : element.reduce;
      body[0] = choice(exists.condition, body[0], identity_text(kind, element.dtype));
    }
  }
  // The body belongs to the loop; the result to the scope outside.
  const ScopeId loop = element.loop;
  std::vector<ElementId> operands = body;
  for (const ElementId id : operands) {
    ++graph_.at(id).uses;
    element.lanes = element.lanes || graph_.at(id).lanes;
  }
  graph_.elements.push_back(std::move(element));
  const ElementId id(graph_.elements.size() - 1);
  graph_.elements.back().operands = operands;
  graph_.scopes[loop.index].reduction = id;
  if (arg) {
    Element index;
    index.kind = ElementKind::kOperation;
    index.dtype = result;
    index.value = value;
    index.op = Op::k_cast;
    index.attributes = CastAttributes{};
    index.operands = {id};
    return add(std::move(index));
  }
  return converted(id, is_half(result) ? compute_type(result) : result);
}

}  // namespace stitch
