#include "planner/fusion/xla_fusion.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "graph/op.h"
#include "planner/access/value_size.h"
#include "planner/structure/kernel_structure.h"

namespace stitch {
namespace {

// XLA's limit on how often one kernel evaluates a producer in its text (FusedIrEmitter, 2021).
constexpr int kMostCopies = 15;

class XlaFusion {
 public:
  XlaFusion(const AccessGraph& graph, const std::vector<AccessNodeId>& region,
            const std::vector<bool>& needed)
      : graph_(graph), region_(region), needed_(needed) {
    for (const AccessNodeId id : region) {
      for (const AccessValueId source : sources_of(graph, graph.node(id))) {
        users_[source].push_back(id);
      }
    }
  }

  std::vector<KernelRequest> run() {
    for (size_t i = region_.size(); i-- > 0;) decide(region_[i]);
    std::vector<KernelRequest> kernels;
    for (const AccessNodeId id : region_) {
      if (is_root(id)) kernels.push_back(kernel_of({id}));
    }
    return join_outputs(std::move(kernels));
  }

 private:
  using Copies = std::map<AccessNodeId, int>;  // by root: how often its kernel evaluates the node

  bool is_root(AccessNodeId id) const { return roots_.count(id) != 0; }

  // A root stores its results; any other node is evaluated in the kernels of its users.
  void decide(AccessNodeId id) {
    Copies copies;
    bool root = is_reduce(graph_.node(id)) || !may_be_fused(id);
    for (const AccessValueId result : graph_.node(id).results) {
      for (const AccessNodeId user : users_[result]) {
        if (is_root(user)) {
          ++copies[user];
        } else {
          for (const auto& [kernel, count] : copies_.at(user)) copies[kernel] += count;
        }
      }
    }
    root = root || copies.empty() ||
           std::any_of(copies.begin(), copies.end(),
                       [](const auto& entry) { return entry.second > kMostCopies; });
    if (root) {
      roots_.insert(id);
    } else {
      copies_.emplace(id, std::move(copies));
    }
  }

  bool may_be_fused(AccessNodeId id) {
    const AccessNode& node = graph_.node(id);
    // XLA counts divisions of floats as cheap on GPUs.
    const bool expensive = facts(node.op).op_class == OpClass::k_expensive && node.op != Op::k_div;
    for (const AccessValueId result : node.results) {
      if (needed_[result.index]) return false;
      for (const AccessNodeId user : users_[result]) {
        if (expensive && reuses(user, result)) return false;
      }
    }
    return true;
  }

  // The user reads an element more than once: a broadcast, or an overlapping window.
  bool reuses(AccessNodeId user, AccessValueId value) const {
    const AccessNode& node = graph_.node(user);
    return point_count(graph_.pool, node.axes) * point_count(graph_.pool, node.reduced) >
           element_count(graph_.value(value));
  }

  KernelRequest kernel_of(const std::set<AccessNodeId>& roots) {
    KernelRequest request;
    request.may_wait = false;
    request.may_cluster = false;
    request.may_sweep = false;
    request.may_be_in_shared = false;
    std::set<AccessNodeId> nodes;
    std::vector<AccessNodeId> open(roots.begin(), roots.end());
    while (!open.empty()) {
      const AccessNodeId id = open.back();
      open.pop_back();
      if (!nodes.insert(id).second) continue;
      for (const AccessValueId source : sources_of(graph_, graph_.node(id))) {
        const AccessNodeId producer = graph_.value(source).producer;
        const bool inside = producer.valid() && copies_.count(producer) != 0;
        if (inside || (producer.valid() && roots.count(producer) != 0)) open.push_back(producer);
      }
    }
    request.nodes.assign(nodes.begin(), nodes.end());
    for (const AccessNodeId root : roots) {
      for (const AccessValueId result : graph_.node(root).results) {
        if (is_stored(result, nodes)) request.stored.push_back(result);
      }
    }
    return request;
  }

  bool is_stored(AccessValueId value, const std::set<AccessNodeId>& own) const {
    if (needed_[value.index]) return true;
    const auto users = users_.find(value);
    return users != users_.end() &&
           std::any_of(users->second.begin(), users->second.end(),
                       [&](AccessNodeId user) { return own.count(user) == 0; });
  }

  // Multi-output fusion: an element-wise root joins the first kernel that reads it at the same
  // points and does not depend on it otherwise.
  std::vector<KernelRequest> join_outputs(std::vector<KernelRequest> kernels) {
    find_edges(kernels);
    std::vector<bool> gone(kernels.size(), false);
    for (size_t k = 0; k < kernels.size(); ++k) {
      const AccessNodeId root = graph_.value(kernels[k].stored.front()).producer;
      if (is_reduce(graph_.node(root)) || kernels[k].stored.size() != 1) continue;
      const std::set<size_t> readers = readers_[k];
      const auto reader = std::find_if(readers.begin(), readers.end(), [&](size_t r) {
        return reads_at_own_points(kernels[r], root) && !leads_through(k, r);
      });
      if (reader == readers.end()) continue;
      std::set<AccessNodeId> roots = {root};
      for (const AccessValueId value : kernels[*reader].stored) {
        roots.insert(graph_.value(value).producer);
      }
      kernels[*reader] = kernel_of(roots);
      gone[k] = true;
      replace(k, *reader);
    }
    std::vector<KernelRequest> left;
    for (size_t k = 0; k < kernels.size(); ++k) {
      if (!gone[k]) left.push_back(std::move(kernels[k]));
    }
    return left;
  }

  void find_edges(const std::vector<KernelRequest>& kernels) {
    std::unordered_map<AccessValueId, size_t> writer;
    for (size_t k = 0; k < kernels.size(); ++k) {
      for (const AccessValueId value : kernels[k].stored) writer.emplace(value, k);
    }
    reads_.resize(kernels.size());
    readers_.resize(kernels.size());
    for (size_t k = 0; k < kernels.size(); ++k) {
      for (const AccessNodeId node : kernels[k].nodes) {
        for (const AccessValueId source : sources_of(graph_, graph_.node(node))) {
          const auto found = writer.find(source);
          if (found == writer.end() || found->second == k) continue;
          reads_[k].insert(found->second);
          readers_[found->second].insert(k);
        }
      }
    }
  }

  // All edges of `kernel` become those of `other`, which it joins.
  void replace(size_t kernel, size_t other) {
    for (const size_t r : readers_[kernel]) {
      reads_[r].erase(kernel);
      if (r == other) continue;
      reads_[r].insert(other);
      readers_[other].insert(r);
    }
    for (const size_t w : reads_[kernel]) {
      readers_[w].erase(kernel);
      reads_[other].insert(w);
      readers_[w].insert(other);
    }
    readers_[kernel].clear();
    reads_[kernel].clear();
  }

  // A third kernel reads `from` and leads to `to`.
  bool leads_through(size_t from, size_t to) const {
    std::vector<size_t> open;
    for (const size_t r : readers_[from]) {
      if (r != to) open.push_back(r);
    }
    std::set<size_t> seen;
    while (!open.empty()) {
      const size_t k = open.back();
      open.pop_back();
      if (k == to) return true;
      if (seen.insert(k).second) open.insert(open.end(), readers_[k].begin(), readers_[k].end());
    }
    return false;
  }

  // Every reader inside of the kernel asks for the element with its own indices.
  bool reads_at_own_points(const KernelRequest& kernel, AccessNodeId root) const {
    const AccessValueId value = graph_.node(root).results.front();
    const int64_t points = point_count(graph_.pool, graph_.node(root).axes);
    bool reads = false;
    for (const AccessNodeId id : kernel.nodes) {
      const AccessNode& node = graph_.node(id);
      for (const Read& operand : node.operands) {
        for (const Piece& piece : operand.pieces) {
          if (piece.source != value) continue;
          if (!is_aligned(graph_, piece)) return false;
          reads = true;
        }
      }
    }
    const AccessNode& end = graph_.node(graph_.value(kernel.stored.front()).producer);
    return reads &&
           point_count(graph_.pool, end.axes) * point_count(graph_.pool, end.reduced) == points;
  }

  const AccessGraph& graph_;
  const std::vector<AccessNodeId>& region_;
  const std::vector<bool>& needed_;
  std::unordered_map<AccessValueId, std::vector<AccessNodeId>> users_;
  std::set<AccessNodeId> roots_;
  std::map<AccessNodeId, Copies> copies_;
  std::vector<std::set<size_t>> reads_, readers_;  // of kernels, by kernel
};

}  // namespace

std::vector<KernelRequest> fuse_like_xla(const AccessGraph& graph,
                                         const std::vector<AccessNodeId>& region,
                                         const std::vector<bool>& needed) {
  return XlaFusion(graph, region, needed).run();
}

}  // namespace stitch
