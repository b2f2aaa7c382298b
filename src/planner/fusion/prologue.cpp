#include "planner/fusion/prologue.h"

#include <algorithm>
#include <set>

#include "planner/access/read_rewriter.h"
#include "planner/access/value_size.h"
#include "planner/access/value_uses.h"
#include "planner/plan/plan_buffers.h"
#include "planner/structure/kernel_structure.h"

namespace stitch {
namespace {

// A value of so small a share of the operand is loaded from a cache.
constexpr int64_t kSmallShare = 8;
// Operations that may be repeated for every point of a window.
constexpr size_t kRepeatable = 2;

class PrologueFinder {
 public:
  PrologueFinder(AccessGraph& graph, const EpilogueOptions& options)
      : graph_(graph), options_(options), uses_(graph) {}

  void run() {
    int64_t taken = 0;
    for (size_t n = 0; n < graph_.nodes.size() && taken < options_.most; ++n) {
      if (graph_.nodes[n].kind != AccessKind::kContraction) continue;
      if (!options_.has_own_kernel(AccessNodeId(n))) continue;
      bool some = false;
      for (const Read& operand : std::vector<Read>(graph_.nodes[n].operands)) {
        some = take(AccessNodeId(n), operand) || some;
      }
      taken += some ? 1 : 0;
    }
  }

 private:
  bool take(AccessNodeId contraction, const Read& operand) {
    const AccessValueId value = operand.pieces.front().source;
    if (!graph_.value(value).producer.valid()) return false;
    contraction_ = contraction;
    elements_ = element_count(graph_.value(value));
    members_.clear();
    std::set<AccessValueId> sources = {value};
    std::vector<AccessValueId> open = {value};
    while (!open.empty()) {
      const AccessValueId next = open.back();
      open.pop_back();
      const AccessNodeId producer = graph_.value(next).producer;
      if (!producer.valid() || !fits(producer)) continue;
      members_.insert(producer);
      sources.erase(next);
      for (const AccessValueId source : sources_of(graph_, graph_.node(producer))) {
        if (sources.insert(source).second) open.push_back(source);
      }
    }
    if (members_.empty() || !is_asked_for(options_, members_) ||
        !costs_nothing(operand, value, sources))
      return false;
    for (const AccessNodeId member : members_) {
      graph_.nodes[member.index].computed_with = contraction;
    }
    return true;
  }

  bool fits(AccessNodeId id) const {
    const AccessNode& node = graph_.node(id);
    if (node.kind != AccessKind::kElementwise || node.computed_with.valid()) return false;
    const AccessValueId result = node.results.front();
    if (facts(node.op).op_class != OpClass::k_light || uses_.is_output[result.index]) return false;
    if (point_count(graph_.pool, node.axes) != elements_) return false;
    const std::vector<AccessNodeId>& readers = uses_.readers[result.index];
    return std::all_of(readers.begin(), readers.end(), [&](AccessNodeId reader) {
      return reader == contraction_ || members_.count(reader) != 0;
    });
  }

  bool costs_nothing(const Read& operand, AccessValueId value,
                     const std::set<AccessValueId>& sources) const {
    const AccessNode& contraction = graph_.node(contraction_);
    const auto reads = std::count_if(
        contraction.operands.begin(), contraction.operands.end(), [&](const Read& read) {
          return std::any_of(read.pieces.begin(), read.pieces.end(),
                             [&](const Piece& piece) { return piece.source == value; });
        });
    if (reads != 1) return false;
    const bool repeats = point_count(graph_.pool, atoms_of(graph_, operand)) > elements_;
    if (repeats && members_.size() > kRepeatable) return false;
    int64_t large_bytes = 0;
    for (const AccessValueId source : sources) {
      if (is_literal(graph_, source)) continue;
      const bool is_small = element_count(graph_.value(source)) * kSmallShare <= elements_;
      if (!is_small && !is_in_memory(source)) return false;
      if (!is_small) large_bytes += byte_count(graph_.value(source));
    }
    return large_bytes <= byte_count(graph_.value(value));
  }

  // Whatever becomes of the members.
  bool is_in_memory(AccessValueId value) const {
    const AccessNodeId producer = graph_.value(value).producer;
    if (!producer.valid() || uses_.is_output[value.index]) return true;
    const AccessNode& node = graph_.node(producer);
    if (node.computed_with.valid()) return true;
    if (node.kind == AccessKind::kContraction) return options_.has_own_kernel(producer);
    if (node.kind == AccessKind::kAssembly) return true;
    // A region leaves its values to those of other depths.
    const std::vector<AccessNodeId>& readers = uses_.readers[value.index];
    return std::any_of(readers.begin(), readers.end(), [&](AccessNodeId reader) {
      const AccessNode& by = graph_.node(reader);
      const bool has_region = by.kind != AccessKind::kContraction &&
                              by.kind != AccessKind::kAssembly && !by.computed_with.valid();
      return !has_region || by.depth != node.depth;
    });
  }

  AccessGraph& graph_;
  const EpilogueOptions& options_;
  const ValueUses uses_;
  // Of the operand at hand.
  AccessNodeId contraction_;
  int64_t elements_ = 0;
  std::set<AccessNodeId> members_;
};

}  // namespace

void take_prologues(AccessGraph& graph, const EpilogueOptions& options) {
  PrologueFinder(graph, options).run();
}

}  // namespace stitch
