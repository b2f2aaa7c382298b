#include "planner/structure/kernel_structure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace stitch {
namespace {

// A thread sums so many elements on its own without starving the others.
constexpr int64_t kLongestWindow = 64;
constexpr int64_t kAlwaysInline = 4;
// Elements side by side, the least that fill a sector of memory.
constexpr int64_t kShortestRun = 8;

bool same_set(std::vector<AtomId> a, std::vector<AtomId> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

// Different points of kept and summed atoms read different elements, in runs that are worth lanes
// of their own: heads that are summed one by one, not a pooling window.
bool reads_rows(const IndexPool& pool, ExprId index, std::span<const AtomId> summed) {
  struct Step {
    int64_t size = 0, count = 0;
  };
  std::vector<Step> steps;
  int64_t run = 1;
  for (const Term& term : pool.expr(index).terms) {
    if (term.kind != FactorKind::kAtom) return false;
    const int64_t extent = pool.atom(term.atom).extent;
    steps.push_back({std::abs(term.coefficient), extent});
    if (contains(summed, term.atom)) run *= extent;
  }
  std::sort(steps.begin(), steps.end(), [](Step a, Step b) { return a.size < b.size; });
  int64_t reach = 0;
  for (const Step& step : steps) {
    if (step.size <= reach) return false;
    reach += step.size * (step.count - 1);
  }
  return run >= kShortestRun;
}

// Reads of neighbouring results overlap, or some points read nothing.
bool reads_a_window(const AccessGraph& graph, const AccessNode& node) {
  if (!node.guards.empty()) return true;
  const auto kept = [&](ExprId e) {
    const std::vector<AtomId> atoms = graph.pool.atoms_of(e);
    return std::any_of(atoms.begin(), atoms.end(),
                       [&](AtomId atom) { return contains(node.axes, atom); });
  };
  const auto summed = [&](ExprId e) {
    const std::vector<AtomId> atoms = graph.pool.atoms_of(e);
    return std::any_of(atoms.begin(), atoms.end(),
                       [&](AtomId atom) { return contains(node.reduced, atom); });
  };
  for (const Read& operand : node.operands) {
    for (const Piece& piece : operand.pieces) {
      if (std::any_of(piece.guards.begin(), piece.guards.end(),
                      [&](const Guard& guard) { return summed(guard.expr); })) {
        return true;
      }
      if (std::any_of(piece.index.begin(), piece.index.end(), [&](ExprId e) {
            return kept(e) && summed(e) && !reads_rows(graph.pool, e, node.reduced);
          })) {
        return true;
      }
    }
  }
  return false;
}

class StructureFinder {
 public:
  StructureFinder(KernelNodes& nodes, std::span<const AccessValueId> stored) : nodes_(nodes) {
    std::unordered_set<AccessValueId> dominants;
    for (const AccessNodeId id : nodes.nodes()) {
      const AccessNode& node = nodes.graph().node(id);
      const bool is_inline = is_inline_reduce(nodes.graph(), node) || nodes.is_marked_inline(id);
      if (is_reduce(node) && (!is_inline || nodes.swept_rows(id) != nullptr)) {
        dominants.insert(node.results.front());
      }
    }
    ValueTracer tracer(nodes, [&](AccessValueId value, bool) {
      return dominants.count(value) != 0 || nodes.is_marked_shared(value);
    });
    for (const AccessNodeId id : nodes.nodes()) add_roots(id, dominants, stored, tracer);
  }

  KernelStructure run() {
    // Reduces first: a store without a place of its own goes where its inputs already are.
    for (const bool stores : {false, true}) {
      for (size_t i = 0; i < result_.roots.size(); ++i) {
        if ((result_.roots[i].kind == RootKind::kStore) == stores) assign(i);
      }
    }
    return std::move(result_);
  }

  KernelStructure run_together(std::vector<AtomId> rows) {
    Cluster cluster;
    cluster.rows = std::move(rows);
    result_.clusters.push_back(std::move(cluster));
    for (const bool stores : {false, true}) {
      for (size_t i = 0; i < result_.roots.size(); ++i) {
        if ((result_.roots[i].kind == RootKind::kStore) == stores) join(i, 0);
      }
    }
    return std::move(result_);
  }

 private:
  void add_roots(AccessNodeId id, const std::unordered_set<AccessValueId>& dominants,
                 std::span<const AccessValueId> stored, ValueTracer& tracer) {
    const AccessNode node = nodes_.graph().node(id);
    for (const AccessValueId value : node.results) {
      StructureRoot root;
      root.node = id;
      root.value = value;
      root.space = node.axes;
      if (dominants.count(value) != 0) {
        root.kind = nodes_.swept_rows(id) != nullptr ? RootKind::kReduceRows : RootKind::kReduce;
        root.space.insert(root.space.end(), node.reduced.begin(), node.reduced.end());
        root.trace = tracer.trace_operands(id);
        reduce_of_.emplace(value, result_.roots.size());
        result_.roots.push_back(root);
      } else if (nodes_.is_marked_shared(value)) {
        root.kind = RootKind::kPlace;
        root.trace = tracer.trace_operands(id);
        result_.roots.push_back(root);
      }
      if (std::find(stored.begin(), stored.end(), value) != stored.end()) {
        root.kind = RootKind::kStore;
        root.space = node.axes;
        root.trace = tracer.trace_value(value);
        result_.roots.push_back(std::move(root));
      }
    }
  }

  // Kept atoms: a block can own one assignment of them.
  std::vector<AtomId> rows_of(const StructureRoot& root) const {
    return root.kind == RootKind::kReduce ? nodes_.graph().node(root.node).axes : root.space;
  }

  // The cluster of the blocks that sweep over these rows.
  size_t sweeping_cluster(const std::vector<AtomId>& rows) {
    for (size_t c = 0; c < result_.clusters.size(); ++c) {
      if (result_.clusters[c].level == 0 && same_set(result_.clusters[c].rows, rows)) return c;
    }
    Cluster cluster;
    cluster.rows = rows;
    result_.clusters.push_back(std::move(cluster));
    return result_.clusters.size() - 1;
  }

  void assign(size_t i) {
    StructureRoot& root = result_.roots[i];
    if (const std::vector<AtomId>* const rows = nodes_.swept_rows(root.node)) {
      return join(i, sweeping_cluster(*rows));
    }
    std::set<size_t> sources;
    int level = 0;
    for (const TracedRead& read : root.trace.placed) {
      const size_t cluster = result_.roots[reduce_of_.at(read.value)].cluster;
      sources.insert(cluster);
      level = std::max(level, result_.clusters[cluster].level);
    }
    std::string reason;
    if (sources.empty()) {
      if (const size_t near = nearest_cluster(root); near != kNoCluster) return join(i, near);
    } else if (const size_t target = common_cluster(sources, level); target == kNoCluster) {
      reason = "it reads results of two sets of blocks";
    } else {
      reason = why_not_join(root, target);
      if (reason.empty()) return join(i, target);
    }
    if (!sources.empty()) {
      ++level;
      if (result_.reason.empty()) result_.reason = describe(root) + ": " + reason;
      // Another root that had to wait too may own the same rows.
      for (size_t c = 0; c < result_.clusters.size(); ++c) {
        if (result_.clusters[c].level == level &&
            same_set(result_.clusters[c].rows, rows_of(root)) &&
            result_.clusters[c].has_reduce == (root.kind == RootKind::kReduce)) {
          return join(i, c);
        }
      }
    }
    Cluster cluster;
    cluster.rows = rows_of(root);
    cluster.level = level;
    result_.clusters.push_back(std::move(cluster));
    join(i, result_.clusters.size() - 1);
  }

  // The one cluster at `level` among the sources; those of lower levels are read from memory.
  size_t common_cluster(const std::set<size_t>& sources, int level) const {
    size_t found = kNoCluster;
    for (const size_t source : sources) {
      if (result_.clusters[source].level != level) continue;
      if (found != kNoCluster) return kNoCluster;
      found = source;
    }
    return found;
  }

  // Empty when every block computes what the root's points in it need.
  std::string why_not_join(const StructureRoot& root, size_t target) const {
    const Cluster& cluster = result_.clusters[target];
    const std::vector<AtomId> rows = rows_of(root);
    if (root.kind == RootKind::kReduce && !same_set(rows, cluster.rows)) {
      return "it reduces over indices that different blocks own";
    }
    if (!contains_all(rows, cluster.rows)) return "it needs the results of several blocks";
    for (const TracedRead& read : root.trace.placed) {
      if (result_.roots[reduce_of_.at(read.value)].cluster != target) continue;
      if (!is_row_aligned(read, cluster.rows)) {
        return "it reads the rows of other blocks";
      }
    }
    return {};
  }

  bool is_row_aligned(const TracedRead& read, const std::vector<AtomId>& rows) const {
    const std::vector<AtomId>& atoms = nodes_.atoms(read.value);
    for (size_t d = 0; d < atoms.size(); ++d) {
      if (contains(rows, atoms[d]) && read.index[d] != nodes_.pool().of(atoms[d])) return false;
    }
    return true;
  }

  // For a root that reads no dominant: a cluster with the same rows that reads the same inputs.
  size_t nearest_cluster(const StructureRoot& root) const {
    for (size_t c = 0; c < result_.clusters.size(); ++c) {
      const Cluster& cluster = result_.clusters[c];
      if (root.kind == RootKind::kReduce || !cluster.has_reduce) {
        if (!same_set(cluster.rows, rows_of(root))) continue;
        if (root.kind == RootKind::kStore) return c;
        if (shares_input(root, cluster)) return c;
      } else if (contains_all(root.space, cluster.rows) && shares_input(root, cluster)) {
        return c;
      }
    }
    return kNoCluster;
  }

  // A node or a buffer that both read at many points.
  bool shares_input(const StructureRoot& root, const Cluster& cluster) const {
    std::set<AccessNodeId> own_nodes;
    std::set<AccessValueId> own_loads;
    for (const TracedNode& node : root.trace.nodes) {
      if (node.aligned) own_nodes.insert(node.node);
    }
    for (const TracedRead& load : root.trace.loads) own_loads.insert(load.value);
    const int64_t large = point_count(nodes_.pool(), root.space) / 8;
    const auto is_large = [&](const std::vector<int64_t>& extents) {
      int64_t count = 1;
      for (const int64_t extent : extents) count *= extent;
      return count > 1 && count >= large;
    };
    for (const size_t other : cluster.roots) {
      const Trace& trace = result_.roots[other].trace;
      for (const TracedNode& node : trace.nodes) {
        if (node.aligned && own_nodes.count(node.node) != 0 &&
            is_large(nodes_.graph().value(nodes_.graph().node(node.node).results[0]).extents)) {
          return true;
        }
      }
      for (const TracedRead& load : trace.loads) {
        if (own_loads.count(load.value) != 0 &&
            is_large(nodes_.graph().value(load.value).extents)) {
          return true;
        }
      }
    }
    return false;
  }

  void join(size_t root, size_t cluster) {
    result_.roots[root].cluster = cluster;
    result_.clusters[cluster].roots.push_back(root);
    if (result_.roots[root].kind == RootKind::kReduce) result_.clusters[cluster].has_reduce = true;
  }

  std::string describe(const StructureRoot& root) const {
    const AccessNode& node = nodes_.graph().node(root.node);
    const std::string op(name(node.op));
    if (node.sources.empty() || nodes_.graph().graph == nullptr) return op;
    return fmt::format("{} of {}", op, nodes_.graph().graph->source(node.sources.front()).name);
  }

  static constexpr size_t kNoCluster = static_cast<size_t>(-1);
  KernelNodes& nodes_;
  KernelStructure result_;
  std::unordered_map<AccessValueId, size_t> reduce_of_;
};

}  // namespace

int64_t point_count(const IndexPool& pool, std::span<const AtomId> atoms) {
  int64_t count = 1;
  for (const AtomId atom : atoms) count *= pool.atom(atom).extent;
  return count;
}

bool contains(std::span<const AtomId> atoms, AtomId atom) {
  return std::find(atoms.begin(), atoms.end(), atom) != atoms.end();
}

bool contains_all(std::span<const AtomId> atoms, std::span<const AtomId> subset) {
  return std::all_of(subset.begin(), subset.end(),
                     [&](AtomId atom) { return contains(atoms, atom); });
}

bool is_reduce(const AccessNode& node) {
  switch (node.kind) {
    case AccessKind::kReduce:
    case AccessKind::kArgReduce:
    case AccessKind::kContraction:
      return true;
    case AccessKind::kElementwise:
    case AccessKind::kIndex:
    case AccessKind::kScan:
    case AccessKind::kSort:
    case AccessKind::kScatter:
    case AccessKind::kAssembly:
      return false;
  }
  return false;
}

bool is_inline_reduce(const AccessGraph& graph, const AccessNode& node) {
  const int64_t taps = point_count(graph.pool, node.reduced);
  if (taps <= kAlwaysInline) return true;
  return taps <= kLongestWindow && reads_a_window(graph, node);
}

KernelStructure find_structure(KernelNodes& nodes, std::span<const AccessValueId> stored) {
  return StructureFinder(nodes, stored).run();
}

KernelStructure one_cluster(KernelNodes& nodes, std::span<const AccessValueId> stored,
                            std::vector<AtomId> rows) {
  return StructureFinder(nodes, stored).run_together(std::move(rows));
}

}  // namespace stitch
