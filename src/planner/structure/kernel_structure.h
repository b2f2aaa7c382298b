// The structure of a kernel before mappings: its roots, and the clusters of roots that share
// blocks. A block owns one assignment of a cluster's rows (stitching.md 6a).
#pragma once
#include <span>
#include <string>
#include <vector>

#include "planner/plan/plan.h"
#include "planner/structure/kernel_nodes.h"
#include "planner/structure/value_trace.h"

namespace stitch {

// A reduce that is a dominant, a value that leaves the kernel, or one that is marked as shared
// (KernelNodes::mark_shared; kind kPlace).
struct StructureRoot {
  RootKind kind = RootKind::kStore;
  AccessNodeId node;
  AccessValueId value;
  Trace trace;                // up to the results of other dominants
  std::vector<AtomId> space;  // its points: result atoms, then reduced ones
  size_t cluster = 0;
};

struct Cluster {
  std::vector<AtomId> rows;
  std::vector<size_t> roots;  // topological
  bool has_reduce = false;
  int level = 0;  // more than those of the clusters whose results it reads
};

struct KernelStructure {
  std::vector<StructureRoot> roots;  // topological
  std::vector<Cluster> clusters;
  // Why the first root of a higher level could not join the blocks of what it reads; empty when all
  // clusters have level 0.
  std::string reason;
};

// Too small and too irregular for threads to share: a loop inside of one thread (a pooling window,
// a sum of three).
bool is_inline_reduce(const AccessGraph& graph, const AccessNode& node);
bool is_reduce(const AccessNode& node);

// `stored`: clones that leave the kernel.
KernelStructure find_structure(KernelNodes& nodes, std::span<const AccessValueId> stored);

// The same roots in one cluster with given rows: blocks that share a row exchange what is missing.
KernelStructure one_cluster(KernelNodes& nodes, std::span<const AccessValueId> stored,
                            std::vector<AtomId> rows);

// Product of the extents.
int64_t point_count(const IndexPool& pool, std::span<const AtomId> atoms);
bool contains(std::span<const AtomId> atoms, AtomId atom);
bool contains_all(std::span<const AtomId> atoms, std::span<const AtomId> subset);

}  // namespace stitch
