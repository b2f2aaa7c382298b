#include "planner/fusion/region_partition.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <queue>
#include <set>
#include <utility>

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
    std::vector<std::set<size_t>> users(partition_.size());
    std::vector<size_t> waits(partition_.size(), 0);
    std::vector<bool> is_read(region_.size(), false);
    for (size_t p = 0; p < partition_.size(); ++p) {
      for (const size_t n : nodes_[p]) {
        for (const size_t source : region_.producers(n)) {
          if (std::binary_search(nodes_[p].begin(), nodes_[p].end(), source)) continue;
          is_read[source] = true;
          if (users[owner_[source]].insert(p).second) ++waits[p];
        }
      }
    }
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    for (size_t p = 0; p < partition_.size(); ++p) {
      if (waits[p] == 0) ready.push(p);
    }
    std::vector<KernelRequest> requests;
    while (!ready.empty()) {
      const size_t p = ready.top();
      ready.pop();
      requests.push_back(request_of(p, is_read));
      for (const size_t user : users[p]) {
        if (--waits[user] == 0) ready.push(user);
      }
    }
    if (requests.size() != partition_.size()) requests.clear();
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
