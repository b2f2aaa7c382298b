#include "planner/access/regions.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "planner/access/value_size.h"

namespace stitch {
namespace {

// What reads its result has a depth of one more.
bool ends_depth(const AccessNode& node) {
  return node.kind == AccessKind::kContraction || node.kind == AccessKind::kAssembly;
}

// No part of any region.
bool is_between_regions(const AccessNode& node) {
  return ends_depth(node) || node.computed_with.valid();
}

size_t root_of(std::vector<size_t>& parents, size_t n) {
  while (parents[n] != n) n = parents[n] = parents[parents[n]];
  return n;
}

// Bytes of a tensor that is worth a common load.
constexpr int64_t kLeastSharedBytes = 16 << 10;

}  // namespace

void set_depths(AccessGraph& graph) {
  for (AccessNode& node : graph.nodes) {
    node.depth = 0;
    for (const AccessValueId source : sources_of(graph, node)) {
      const AccessNodeId producer = graph.value(source).producer;
      if (!producer.valid()) continue;
      const AccessNode& before = graph.node(producer);
      const int own = ends_depth(before) ? 1 : 0;
      node.depth = std::max(node.depth, before.depth + own);
    }
  }
}

void sink_to_readers(AccessGraph& graph) {
  const size_t count = graph.nodes.size();
  const size_t nobody = count, several = count + 1;
  std::vector<size_t> reader(graph.values.size(), nobody);
  for (size_t n = 0; n < count; ++n) {
    for (const AccessValueId source : sources_of(graph, graph.nodes[n])) {
      size_t& known = reader[source.index];
      known = known == nobody ? n : several;
    }
  }
  for (const AccessOutput& output : graph.outputs) reader[output.value.index] = several;
  const auto points = [&](const AccessNode& node) {
    int64_t product = 1;
    for (const auto* atoms : {&node.axes, &node.reduced}) {
      for (const AtomId atom : *atoms) product *= graph.pool.atom(atom).extent;
    }
    return product;
  };
  // Of nodes whose operands are stored, or computed by such a node for this one alone.
  std::vector<bool> movable(count, false);
  for (size_t n = 0; n < count; ++n) {
    const AccessNode& node = graph.nodes[n];
    if (node.kind != AccessKind::kElementwise) continue;
    const size_t by = reader[node.results.front().index];
    if (by >= count || is_between_regions(graph.nodes[by])) continue;
    if (points(graph.nodes[by]) != points(node)) continue;
    const std::vector<AccessValueId> sources = sources_of(graph, node);
    movable[n] = std::all_of(sources.begin(), sources.end(), [&](AccessValueId source) {
      const AccessNodeId producer = graph.value(source).producer;
      return !producer.valid() || movable[producer.index] ||
             is_between_regions(graph.node(producer));
    });
  }
  for (size_t n = count; n-- > 0;) {
    AccessNode& node = graph.nodes[n];
    if (!movable[n]) continue;
    node.depth = std::max(node.depth, graph.nodes[reader[node.results.front().index]].depth);
  }
}

std::vector<Region> depth_regions(const AccessGraph& graph) {
  const size_t count = graph.nodes.size();
  std::vector<size_t> parents(count);
  std::iota(parents.begin(), parents.end(), size_t{0});
  for (size_t n = 0; n < count; ++n) {
    const AccessNode& node = graph.nodes[n];
    if (is_between_regions(node)) continue;
    for (const AccessValueId source : sources_of(graph, node)) {
      const AccessNodeId producer = graph.value(source).producer;
      if (!producer.valid()) continue;
      const AccessNode& before = graph.node(producer);
      if (is_between_regions(before) || before.depth != node.depth) continue;
      const size_t a = root_of(parents, producer.index), b = root_of(parents, n);
      parents[std::max(a, b)] = std::min(a, b);
    }
  }
  std::vector<Region> regions;
  std::vector<size_t> region_of(count, count);
  for (size_t n = 0; n < count; ++n) {
    if (is_between_regions(graph.nodes[n])) continue;
    const size_t root = root_of(parents, n);
    if (region_of[root] == count) {
      region_of[root] = regions.size();
      regions.push_back({graph.nodes[n].depth, {}});
    }
    regions[region_of[root]].nodes.push_back(AccessNodeId(n));
  }
  return regions;
}

std::vector<Region> join_siblings(const AccessGraph& graph, const std::vector<Region>& regions) {
  std::vector<size_t> parents(regions.size());
  std::iota(parents.begin(), parents.end(), size_t{0});
  std::map<std::pair<int, AccessValueId>, size_t> reader;  // by depth and value read
  for (size_t r = 0; r < regions.size(); ++r) {
    for (const AccessNodeId node : regions[r].nodes) {
      for (const AccessValueId source : sources_of(graph, graph.node(node))) {
        if (byte_count(graph.value(source)) < kLeastSharedBytes) continue;
        const auto [found, is_new] = reader.emplace(std::pair(regions[r].depth, source), r);
        const size_t a = root_of(parents, found->second), b = root_of(parents, r);
        parents[std::max(a, b)] = std::min(a, b);
      }
    }
  }
  std::vector<Region> joined;
  std::vector<size_t> place(regions.size());
  for (size_t r = 0; r < regions.size(); ++r) {
    const size_t root = root_of(parents, r);
    if (root == r) {
      place[r] = joined.size();
      joined.push_back(regions[r]);
      continue;
    }
    std::vector<AccessNodeId>& nodes = joined[place[root]].nodes;
    nodes.insert(nodes.end(), regions[r].nodes.begin(), regions[r].nodes.end());
    std::sort(nodes.begin(), nodes.end());
  }
  return joined;
}

}  // namespace stitch
