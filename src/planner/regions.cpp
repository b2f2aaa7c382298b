#include "planner/regions.h"

#include <algorithm>
#include <numeric>

namespace stitch {
namespace {

size_t root_of(std::vector<size_t>& parents, size_t n) {
  while (parents[n] != n) n = parents[n] = parents[parents[n]];
  return n;
}

}  // namespace

void set_depths(AccessGraph& graph) {
  for (AccessNode& node : graph.nodes) {
    node.depth = 0;
    for (const AccessValueId source : sources_of(graph, node)) {
      const AccessNodeId producer = graph.value(source).producer;
      if (!producer.valid()) continue;
      const AccessNode& before = graph.node(producer);
      const int own = before.kind == AccessKind::kContraction ? 1 : 0;
      node.depth = std::max(node.depth, before.depth + own);
    }
  }
}

std::vector<Region> depth_regions(const AccessGraph& graph) {
  const size_t count = graph.nodes.size();
  std::vector<size_t> parents(count);
  std::iota(parents.begin(), parents.end(), size_t{0});
  for (size_t n = 0; n < count; ++n) {
    const AccessNode& node = graph.nodes[n];
    if (node.kind == AccessKind::kContraction) continue;
    for (const AccessValueId source : sources_of(graph, node)) {
      const AccessNodeId producer = graph.value(source).producer;
      if (!producer.valid()) continue;
      const AccessNode& before = graph.node(producer);
      if (before.kind == AccessKind::kContraction || before.depth != node.depth) continue;
      const size_t a = root_of(parents, producer.index), b = root_of(parents, n);
      parents[std::max(a, b)] = std::min(a, b);
    }
  }
  std::vector<Region> regions;
  std::vector<size_t> region_of(count, count);
  for (size_t n = 0; n < count; ++n) {
    if (graph.nodes[n].kind == AccessKind::kContraction) continue;
    const size_t root = root_of(parents, n);
    if (region_of[root] == count) {
      region_of[root] = regions.size();
      regions.push_back({graph.nodes[n].depth, {}});
    }
    regions[region_of[root]].nodes.push_back(AccessNodeId(n));
  }
  return regions;
}

}  // namespace stitch
