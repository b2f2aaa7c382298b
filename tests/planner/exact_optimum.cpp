#include "planner/exact_optimum.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "graph/error.h"
#include "planner/fusion/kernel_trials.h"

namespace stitch {
namespace {

constexpr size_t kMostNodes = 16;
constexpr double kNever = std::numeric_limits<double>::infinity();

using NodeSet = uint32_t;  // a bit per node

class Optimum {
 public:
  Optimum(const AccessGraph& graph, const DeviceModel& device)
      : graph_(graph), trials_(graph, device), before_(graph.nodes.size(), 0) {
    if (graph.nodes.size() > kMostNodes) throw InternalError("too many nodes for all partitions");
    is_output_.resize(graph.values.size(), false);
    for (const AccessOutput& output : graph.outputs) is_output_[output.value.index] = true;
    readers_.resize(graph.values.size(), 0);
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const AccessValueId source : sources_of(graph, graph.nodes[n])) {
        readers_[source.index] |= bit(n);
        const AccessNodeId producer = graph.value(source).producer;
        if (producer.valid()) before_[n] |= bit(producer.index);
      }
    }
    all_ = static_cast<NodeSet>((uint64_t{1} << graph.nodes.size()) - 1);
  }

  ExactOptimum run() {
    ExactOptimum result;
    result.us = best(0).us;
    for (NodeSet done = 0; done != all_; done |= known_.at(done).next) {
      result.launches.push_back(nodes_of(known_.at(done).next));
    }
    result.sets = static_cast<int64_t>(costs_.size());
    return result;
  }

 private:
  struct Choice {
    double us = kNever;
    NodeSet next = 0;
  };

  static NodeSet bit(size_t n) { return NodeSet{1} << n; }

  // The launches after `done`, whose nodes are computed. Sets grow by one ready node at a time.
  const Choice& best(NodeSet done) {
    const auto found = known_.find(done);
    if (found != known_.end()) return found->second;
    Choice choice;
    if (done == all_) choice.us = 0;
    std::vector<NodeSet> open = grown(done, 0);
    std::unordered_set<NodeSet> seen(open.begin(), open.end());
    while (!open.empty()) {
      const NodeSet set = open.back();
      open.pop_back();
      if (const double own = cost(set); own < choice.us) {
        const double us = own + best(done | set).us;
        if (us < choice.us) choice = {us, set};
      }
      for (const NodeSet larger : grown(done, set)) {
        if (seen.insert(larger).second) open.push_back(larger);
      }
    }
    return known_[done] = choice;
  }

  std::vector<NodeSet> grown(NodeSet done, NodeSet set) const {
    std::vector<NodeSet> sets;
    for (size_t n = 0; n < before_.size(); ++n) {
      if (((done | set) & bit(n)) != 0 || (before_[n] & ~(done | set)) != 0) continue;
      sets.push_back(set | bit(n));
    }
    return sets;
  }

  double cost(NodeSet set) {
    const auto found = costs_.find(set);
    if (found != costs_.end()) return found->second;
    KernelRequest request;
    request.nodes = nodes_of(set);
    for (const AccessNodeId node : request.nodes) {
      for (const AccessValueId result : graph_.node(node).results) {
        if (is_output_[result.index] || (readers_[result.index] & ~set) != 0) {
          request.stored.push_back(result);
        }
      }
    }
    const double us = trials_.one_launch_us(request).value_or(kNever);
    costs_.emplace(set, us);
    return us;
  }

  std::vector<AccessNodeId> nodes_of(NodeSet set) const {
    std::vector<AccessNodeId> nodes;
    for (size_t n = 0; n < before_.size(); ++n) {
      if ((set & bit(n)) != 0) nodes.push_back(AccessNodeId(n));
    }
    return nodes;
  }

  const AccessGraph& graph_;
  KernelTrials trials_;
  std::vector<NodeSet> before_;   // by node
  std::vector<NodeSet> readers_;  // by value
  std::vector<bool> is_output_;
  NodeSet all_ = 0;
  std::unordered_map<NodeSet, Choice> known_;
  std::unordered_map<NodeSet, double> costs_;
};

}  // namespace

ExactOptimum exact_optimum(const AccessGraph& graph, const DeviceModel& device) {
  return Optimum(graph, device).run();
}

}  // namespace stitch
