// A region taken apart: which nodes each kernel request owns, and which it computes again.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "planner/access/access_graph.h"
#include "planner/kernel/kernel_cut.h"

namespace stitch {

// The nodes of a region by their positions, and who reads what among them.
class RegionNodes {
 public:
  RegionNodes(const AccessGraph& graph, const KernelRequest& whole);

  size_t size() const { return whole_->nodes.size(); }
  const KernelRequest& whole() const { return *whole_; }
  const AccessNode& node(size_t n) const { return graph_->node(whole_->nodes[n]); }
  const std::vector<size_t>& producers(size_t n) const { return producers_[n]; }
  const std::vector<size_t>& readers(size_t n) const { return readers_[n]; }
  // Values read from outside of the region.
  const std::vector<AccessValueId>& outside(size_t n) const { return outside_[n]; }
  // A result of the node is stored whatever the partition.
  bool leaves(size_t n) const { return leaves_[n]; }

 private:
  const AccessGraph* graph_;
  const KernelRequest* whole_;
  std::vector<std::vector<size_t>> producers_, readers_;
  std::vector<std::vector<AccessValueId>> outside_;
  std::vector<bool> leaves_;
};

// Sorted positions.
struct RegionPart {
  std::vector<size_t> owned;
  std::vector<size_t> repeated;  // owned by another part, computed here again
  bool may_wait = true;          // its blocks may meet, and sweep over rows
  friend bool operator==(const RegionPart&, const RegionPart&) = default;
};

// Every node is owned by one part.
using RegionPartition = std::vector<RegionPart>;

// The parts as requests in launch order, which store what other parts and others need. Empty when
// parts wait for each other.
std::vector<KernelRequest> requests_of(const RegionNodes& region, const RegionPartition& partition);

}  // namespace stitch
