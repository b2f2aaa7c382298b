#include "planner/absorb/epilogue_gain.h"

#include <algorithm>

#include "planner/access/value_size.h"

namespace stitch {
namespace {

class EpilogueGain {
 public:
  EpilogueGain(const AccessGraph& graph, const std::vector<std::vector<AccessNodeId>>& readers)
      : graph_(graph), readers_(readers) {}

  int64_t run(AccessNodeId contraction) const {
    const AccessValueId product = graph_.node(contraction).results.front();
    AccessValueId last = product;
    int length = 0;
    bool is_sum = false;  // of the product and a row alone: the library adds it
    for (AccessNodeId next = only_reader(last); next.valid() && can_follow(next, last);
         next = only_reader(last)) {
      is_sum = length++ == 0 && graph_.node(next).op == Op::k_add;
      last = graph_.node(next).results.front();
    }
    if (length == 0 || is_sum || !is_needed_in_memory(last)) return 0;
    return 2 * byte_count(graph_.value(product));
  }

 private:
  bool is_output(AccessValueId value) const {
    return std::any_of(graph_.outputs.begin(), graph_.outputs.end(),
                       [&](const AccessOutput& output) { return output.value == value; });
  }

  AccessNodeId only_reader(AccessValueId value) const {
    const std::vector<AccessNodeId>& all = readers_[value.index];
    return all.size() == 1 && !is_output(value) ? all.front() : AccessNodeId();
  }

  // An element-wise node on the elements as they come, and on what is there from the start.
  bool can_follow(AccessNodeId id, AccessValueId value) const {
    const AccessNode& node = graph_.node(id);
    if (node.kind != AccessKind::kElementwise || node.results.size() != 1) return false;
    return std::all_of(node.operands.begin(), node.operands.end(), [&](const Read& read) {
      if (read.pieces.size() != 1) return false;
      const Piece& piece = read.pieces.front();
      if (piece.source == value) {
        return is_aligned(graph_, piece) &&
               node.axes.size() == graph_.node(graph_.value(value).producer).axes.size();
      }
      return graph_.value(piece.source).kind != AccessValueKind::kNode;
    });
  }

  bool is_needed_in_memory(AccessValueId value) const {
    const std::vector<AccessNodeId>& all = readers_[value.index];
    return std::all_of(all.begin(), all.end(), [&](AccessNodeId reader) {
      return graph_.node(reader).kind == AccessKind::kContraction;
    });
  }

  const AccessGraph& graph_;
  const std::vector<std::vector<AccessNodeId>>& readers_;
};

}  // namespace

int64_t epilogue_gain(const AccessGraph& graph,
                      const std::vector<std::vector<AccessNodeId>>& readers,
                      AccessNodeId contraction) {
  return EpilogueGain(graph, readers).run(contraction);
}

}  // namespace stitch
