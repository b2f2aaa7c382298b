#include "planner/fusion/epilogue.h"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include "planner/access/value_size.h"
#include "planner/access/value_uses.h"
#include "planner/plan/plan_buffers.h"
#include "planner/structure/kernel_structure.h"

namespace stitch {
namespace {

bool same_atoms(const AccessNode& a, const AccessNode& b) {
  return a.axes.size() == b.axes.size() && contains_all(a.axes, b.axes);
}

class EpilogueFinder {
 public:
  EpilogueFinder(AccessGraph& graph, const EpilogueOptions& options)
      : graph_(graph), options_(options), uses_(graph) {}

  void run() {
    std::vector<AccessNodeId> contractions;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const bool multiplies = graph_.nodes[n].kind == AccessKind::kContraction;
      if (multiplies && options_.has_own_kernel(AccessNodeId(n))) contractions.emplace_back(n);
    }
    std::sort(contractions.begin(), contractions.end(),
              [&](AccessNodeId a, AccessNodeId b) { return comes_before(a, b); });
    int64_t taken = 0;
    for (const AccessNodeId contraction : contractions) {
      if (taken == options_.most) break;
      contraction_ = contraction;
      grow();
      trim();
      add_feeders();
      if (members_.size() < 2 || !is_asked_for(options_, members_)) continue;
      ++taken;
      for (const AccessNodeId member : members_) {
        if (member != contraction) graph_.nodes[member.index].computed_with = contraction;
      }
    }
  }

 private:
  bool comes_before(AccessNodeId a, AccessNodeId b) const {
    const int first = graph_.node(a).depth, second = graph_.node(b).depth;
    return first != second ? first < second : a < b;
  }

  // All that may go along, producers first.
  void grow() {
    members_ = {contraction_};
    std::set<AccessNodeId> open;
    const auto add_readers = [&](AccessNodeId node) {
      const auto& readers = uses_.readers[graph_.node(node).results.front().index];
      open.insert(readers.begin(), readers.end());
    };
    add_readers(contraction_);
    while (!open.empty()) {
      const AccessNodeId next = *open.begin();
      open.erase(open.begin());
      if (members_.count(next) != 0 || !fits(next)) continue;
      members_.insert(next);
      add_readers(next);
    }
  }

  bool fits(AccessNodeId id) const {
    const AccessNode& node = graph_.node(id);
    const AccessNode& contraction = graph_.node(contraction_);
    if (node.kind != AccessKind::kElementwise || node.computed_with.valid()) return false;
    if (node.depth != contraction.depth + 1 || !same_atoms(node, contraction)) return false;
    AccessNode others = node;  // without what it reads of the kernel itself
    std::erase_if(others.operands, [&](const Read& read) {
      return read.pieces.size() == 1 && is_member(read.pieces.front().source) &&
             is_aligned(graph_, read.pieces.front());
    });
    const std::vector<AccessValueId> sources = sources_of(graph_, others);
    return std::all_of(sources.begin(), sources.end(),
                       [&](AccessValueId source) { return is_early(source); });
  }

  bool is_member(AccessValueId value) const {
    const AccessNodeId producer = graph_.value(value).producer;
    return producer.valid() && members_.count(producer) != 0;
  }

  // In memory before the contraction starts.
  bool is_early(AccessValueId value) const {
    AccessNodeId producer = graph_.value(value).producer;
    if (!producer.valid()) return true;
    if (members_.count(producer) != 0) return false;
    const AccessNodeId with = graph_.node(producer).computed_with;
    if (with.valid()) producer = with;
    switch (graph_.node(producer).kind) {
      case AccessKind::kContraction:
        return comes_before(producer, contraction_);
      case AccessKind::kElementwise:
      case AccessKind::kIndex:
      case AccessKind::kReduce:
      case AccessKind::kArgReduce:
      case AccessKind::kScan:
      case AccessKind::kSort:
      case AccessKind::kScatter:
      case AccessKind::kAssembly:
        return graph_.node(producer).depth <= graph_.node(contraction_).depth;
    }
    return false;
  }

  // Consumers first: what is better computed by the region that reads it stays there.
  void trim() {
    const std::vector<AccessNodeId> order(members_.rbegin(), members_.rend());
    for (const AccessNodeId id : order) {
      if (id != contraction_ && !is_worth_storing(id)) members_.erase(id);
    }
  }

  bool is_worth_storing(AccessNodeId id) const {
    const AccessValueId result = graph_.node(id).results.front();
    if (uses_.is_output[result.index]) return true;
    for (const AccessNodeId reader : uses_.readers[result.index]) {
      if (members_.count(reader) != 0 || !is_in_following_region(reader)) return true;
    }
    // Written and read, against what the region reads instead.
    int64_t stored = 2 * byte_count(graph_.value(result));
    int64_t left = 0;
    for (const AccessValueId source : sources_of(graph_, graph_.node(id))) {
      if (is_literal(graph_, source)) continue;
      const int64_t bytes = byte_count(graph_.value(source));
      const bool is_read_anyway = is_read_by_region(source, id);
      if (!is_member(source)) {
        stored += bytes;
        if (!is_read_anyway) left += bytes;
      } else if (!is_read_anyway) {
        left += is_stored(source, id) ? bytes : 2 * bytes;
      }
    }
    return stored <= left;
  }

  bool is_in_following_region(AccessNodeId id) const {
    const AccessNode& node = graph_.node(id);
    const bool in_region = node.kind != AccessKind::kContraction &&
                           node.kind != AccessKind::kAssembly && !node.computed_with.valid();
    return in_region && node.depth == graph_.node(contraction_).depth + 1;
  }

  bool is_read_by_region(AccessValueId value, AccessNodeId besides) const {
    const std::vector<AccessNodeId>& readers = uses_.readers[value.index];
    return std::any_of(readers.begin(), readers.end(), [&](AccessNodeId reader) {
      return reader != besides && members_.count(reader) == 0 && is_in_following_region(reader);
    });
  }

  bool is_stored(AccessValueId value, AccessNodeId besides) const {
    if (uses_.is_output[value.index]) return true;
    const std::vector<AccessNodeId>& readers = uses_.readers[value.index];
    return std::any_of(readers.begin(), readers.end(), [&](AccessNodeId reader) {
      return reader != besides && members_.count(reader) == 0;
    });
  }

  // What only members read, at as many points: computed where it is asked for.
  void add_feeders() {
    std::vector<AccessNodeId> open(members_.begin(), members_.end());
    while (!open.empty()) {
      const AccessNodeId reader = open.back();
      open.pop_back();
      if (reader == contraction_) continue;
      for (const AccessValueId source : sources_of(graph_, graph_.node(reader))) {
        const AccessNodeId producer = graph_.value(source).producer;
        if (!producer.valid() || members_.count(producer) != 0 || !feeds(producer)) continue;
        members_.insert(producer);
        open.push_back(producer);
      }
    }
  }

  bool feeds(AccessNodeId id) const {
    const AccessNode& node = graph_.node(id);
    if (node.kind != AccessKind::kElementwise || node.computed_with.valid()) return false;
    if (uses_.is_output[node.results.front().index]) return false;
    if (point_count(graph_.pool, node.axes) <
        point_count(graph_.pool, graph_.node(contraction_).axes)) {
      return false;
    }
    const std::vector<AccessNodeId>& readers = uses_.readers[node.results.front().index];
    if (std::any_of(readers.begin(), readers.end(),
                    [&](AccessNodeId reader) { return members_.count(reader) == 0; })) {
      return false;
    }
    const std::vector<AccessValueId> sources = sources_of(graph_, node);
    return std::all_of(sources.begin(), sources.end(),
                       [&](AccessValueId source) { return is_early(source); });
  }

  AccessGraph& graph_;
  const EpilogueOptions& options_;
  const ValueUses uses_;
  // Of the contraction at hand, itself among them.
  AccessNodeId contraction_;
  std::set<AccessNodeId> members_;
};

}  // namespace

bool is_asked_for(const EpilogueOptions& options, const std::set<AccessNodeId>& members) {
  return options.only.empty() ||
         std::any_of(options.only.begin(), options.only.end(),
                     [&](AccessNodeId id) { return members.count(id) != 0; });
}

void take_epilogues(AccessGraph& graph, const EpilogueOptions& options) {
  EpilogueFinder(graph, options).run();
}

}  // namespace stitch
