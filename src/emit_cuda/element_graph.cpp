#include "emit_cuda/element_graph.h"

#include "graph/error.h"

namespace stitch {

ScopeId ElementGraph::add_scope(ScopeId parent) {
  Scope scope;
  scope.parent = parent;
  scope.depth = parent.valid() ? at(parent).depth + 1 : 0;
  scope.holds = parent.valid() ? at(parent).holds : PredicateId(size_t{0});
  scopes.push_back(scope);
  return ScopeId(scopes.size() - 1);
}

bool ElementGraph::encloses(ScopeId outer, ScopeId inner) const {
  while (at(inner).depth > at(outer).depth) inner = at(inner).parent;
  return inner == outer;
}

ScopeId ElementGraph::deeper(ScopeId a, ScopeId b) const {
  if (encloses(a, b)) return b;
  if (encloses(b, a)) return a;
  throw InternalError("an element depends on two loops that do not enclose each other");
}

}  // namespace stitch
