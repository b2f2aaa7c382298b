#include "planner/fusion/region_partition.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "planner/fusion/part_order.h"

namespace stitch {

RegionNodes::RegionNodes(const AccessGraph& graph, const KernelRequest& whole)
    : graph_(&graph), whole_(&whole) {
  producers_.resize(size());
  readers_.resize(size());
  outside_.resize(size());
  std::unordered_map<AccessValueId, size_t> producer;
  for (size_t n = 0; n < size(); ++n) {
    for (const AccessValueId source : sources_of(graph, node(n))) {
      const auto found = producer.find(source);
      if (found == producer.end()) {
        outside_[n].push_back(source);
      } else {
        producers_[n].push_back(found->second);
        readers_[found->second].push_back(n);
      }
    }
    bool leaves = false;
    for (const AccessValueId result : node(n).results) {
      producer.emplace(result, n);
      leaves = leaves ||
               std::find(whole.stored.begin(), whole.stored.end(), result) != whole.stored.end();
    }
    leaves_.push_back(leaves);
  }
}

namespace {

class Requests {
 public:
  Requests(const RegionNodes& region, const RegionPartition& partition)
      : region_(region), partition_(partition), owner_(region.size(), 0) {
    for (size_t p = 0; p < partition.size(); ++p) {
      for (const size_t n : partition[p].owned) owner_[n] = p;
      nodes_.emplace_back();
      std::set_union(partition[p].owned.begin(), partition[p].owned.end(),
                     partition[p].repeated.begin(), partition[p].repeated.end(),
                     std::back_inserter(nodes_.back()));
    }
  }

  std::vector<KernelRequest> run() {
    PartOrder order(partition_.size());
    std::vector<bool> is_read(region_.size(), false);
    for (size_t p = 0; p < partition_.size(); ++p) {
      for (const size_t n : nodes_[p]) {
        for (const size_t source : region_.producers(n)) {
          if (std::binary_search(nodes_[p].begin(), nodes_[p].end(), source)) continue;
          is_read[source] = true;
          order.add_use(owner_[source], p);
        }
      }
    }
    const std::vector<size_t> ordered = order.run();
    std::vector<KernelRequest> requests;
    if (ordered.size() != partition_.size()) return requests;
    for (const size_t p : ordered) requests.push_back(request_of(p, is_read));
    return requests;
  }

 private:
  KernelRequest request_of(size_t p, const std::vector<bool>& is_read) const {
    const KernelRequest& whole = region_.whole();
    KernelRequest request = whole;
    request.nodes.clear();
    request.stored.clear();
    if (!partition_[p].may_wait) {
      request.forbid_waits();
    }
    for (const size_t n : nodes_[p]) request.nodes.push_back(whole.nodes[n]);
    for (const size_t n : partition_[p].owned) {
      for (const AccessValueId result : region_.node(n).results) {
        const bool leaves =
            std::find(whole.stored.begin(), whole.stored.end(), result) != whole.stored.end();
        if (leaves || is_read[n]) request.stored.push_back(result);
      }
    }
    return request;
  }

  const RegionNodes& region_;
  const RegionPartition& partition_;
  std::vector<size_t> owner_;
  std::vector<std::vector<size_t>> nodes_;  // by part
};

}  // namespace

std::vector<KernelRequest> requests_of(const RegionNodes& region,
                                       const RegionPartition& partition) {
  return Requests(region, partition).run();
}

}  // namespace stitch
