#include "planner/stage/stage_geometry.h"

#include <algorithm>
#include <unordered_set>

#include "planner/access/read_rewriter.h"

namespace stitch {
namespace {

// A run of so many neighbouring rows keeps a warp's accesses in whole sectors.
constexpr int64_t kShortestRowRun = 8;

// Points at which an address takes different values, as far as its atoms tell.
int64_t distinct_points(const AccessGraph& graph, ExprId linear) {
  return point_count(graph.pool, atoms_of(graph, linear));
}

struct MainAccess {
  Address address;
  bool is_store = false;
  int64_t points = 0;
};

void consider(const AccessGraph& graph, const Address& address, bool is_store, MainAccess& best) {
  const int64_t points = distinct_points(graph, address.linear) * address.element_bytes;
  if (points > best.points) best = {address, is_store, points};
}

MainAccess find_main(KernelNodes& nodes, const KernelStructure& structure, const Cluster& cluster) {
  MainAccess main;
  std::unordered_set<ExprId> seen;
  for (const size_t i : cluster.roots) {
    const StructureRoot& root = structure.roots[i];
    if (root.kind == RootKind::kStore) {
      consider(nodes.graph(), store_address(nodes, root.value), true, main);
    }
    for (const TracedRead& load : root.trace.loads) {
      if (!seen.insert(load.address.linear).second) continue;
      consider(nodes.graph(), load.address, false, main);
    }
  }
  return main;
}

// The atom with the smallest step of the address; none when it is constant.
AtomId fastest_atom(const AccessGraph& graph, ExprId linear) {
  AtomId fastest;
  int64_t smallest = INT64_MAX;
  for (const Term& term : graph.pool.expr(linear).terms) {
    const int64_t step = std::abs(term.coefficient);
    if (term.kind != FactorKind::kAtom || step >= smallest) continue;
    smallest = step;
    fastest = term.atom;
  }
  return fastest;
}

}  // namespace

Address store_address(KernelNodes& nodes, AccessValueId clone) {
  return address_of(nodes.graph(), nodes.original_of(clone), nodes.index_in_original(clone));
}

StageGeometry find_geometry(KernelNodes& nodes, const KernelStructure& structure,
                            const Cluster& cluster) {
  const AccessGraph& graph = nodes.graph();
  const MainAccess main = find_main(nodes, structure, cluster);
  StageGeometry geometry;
  geometry.rows = cluster.rows;
  geometry.main = main.address;
  geometry.main_is_store = main.is_store;
  geometry.main_points = std::max<int64_t>(main.points / main.address.element_bytes, 1);
  geometry.largest_element = main.address.element_bytes;
  if (!main.address.linear.valid()) {
    geometry.lanes_along_rows = !cluster.has_reduce;
    return geometry;
  }
  if (!cluster.has_reduce) {
    // Element-wise work follows what it writes: stores suffer most from scattered addresses.
    for (const size_t i : cluster.roots) {
      if (structure.roots[i].kind != RootKind::kStore) continue;
      geometry.main = store_address(nodes, structure.roots[i].value);
      geometry.main_is_store = true;
      break;
    }
    geometry.lanes_along_rows = true;
    geometry.rows = by_falling_step(graph, geometry.main.linear, cluster.rows);
    return geometry;
  }
  geometry.rows = by_falling_step(graph, main.address.linear, cluster.rows);
  const AtomId fastest = fastest_atom(graph, main.address.linear);
  geometry.lanes_along_rows = fastest.valid() && contains(cluster.rows, fastest) &&
                              graph.pool.atom(fastest).extent >= kShortestRowRun;
  return geometry;
}

}  // namespace stitch
