#include "planner/structure/late_division.h"

#include <optional>

#include "planner/structure/cascade.h"

namespace stitch {
namespace {

class LateDivision {
 public:
  LateDivision(KernelNodes& nodes, AccessNodeId sum) : nodes_(nodes), sum_(sum) {}

  void run() {
    const AccessNode node = nodes_.graph().node(sum_);
    if (!is_sum(node) || node.operands.size() != 1) return;
    const std::optional<Read> terms = undivided(node.operands.front());
    if (!terms) return;
    AccessNode whole = node;
    whole.operands = {*terms};
    const DType dtype = nodes_.graph().value(node.results.front()).dtype;
    const AccessValueId sum = nodes_.add_node(std::move(whole), compute_type(dtype), sum_);
    AccessNode quotient;
    quotient.op = Op::k_div;
    quotient.attributes = default_attributes(Op::k_div);
    quotient.operands = {read_of(sum), read_of(divisor_)};
    quotient.axes = node.axes;
    quotient.results = node.results;
    quotient.sources = node.sources;
    quotient.depth = node.depth;
    nodes_.graph().nodes[sum_.index] = std::move(quotient);
  }

 private:
  static bool is_sum(const AccessNode& node) {
    if (node.kind != AccessKind::kReduce) return false;
    const auto* attributes = std::get_if<ReduceAttributes>(&node.attributes);
    return attributes != nullptr && attributes->kind == ReduceKind::kSum;
  }

  Read read_of(AccessValueId value) { return {{{value, own_index(nodes_.graph(), value), {}}}}; }

  // The node of this kernel that computes what is read, at the reader's own point; null for others.
  const AccessNode* producer(const Read& read) const {
    if (read.pieces.size() != 1 || !is_aligned(nodes_.graph(), read.pieces.front())) return nullptr;
    const AccessNodeId id = nodes_.producer(read.pieces.front().source);
    return id.valid() ? &nodes_.graph().node(id) : nullptr;
  }

  // The same product without the division; none where there is none. Nodes on the way are made
  // anew: others may read the quotient.
  std::optional<Read> undivided(const Read& read) {
    const AccessNode* const found = producer(read);
    if (found == nullptr || found->kind != AccessKind::kElementwise) return std::nullopt;
    if (found->op == Op::k_div && is_sum_of_softmax(found->operands[1])) {
      divisor_ = found->operands[1].pieces.front().source;
      return found->operands[0];
    }
    if (found->op != Op::k_mul) return std::nullopt;
    for (const size_t factor : {0, 1}) {
      AccessNode product = *producer(read);
      const std::optional<Read> operand = undivided(product.operands[factor]);
      if (!operand) continue;
      product.operands[factor] = *operand;
      const DType dtype = nodes_.graph().value(product.results.front()).dtype;
      return read_of(nodes_.add_node(std::move(product), dtype, sum_));
    }
    return std::nullopt;
  }

  // The sum of exp(x - max x) over what the sum at hand adds up.
  bool is_sum_of_softmax(const Read& read) {
    const AccessNode* const divisor = producer(read);
    if (divisor == nullptr || !is_sum(*divisor)) return false;
    const AccessNode& own = nodes_.graph().node(sum_);
    if (divisor->axes != own.axes || divisor->reduced != own.reduced) return false;
    const AccessNode* const power = producer(divisor->operands.front());
    if (power == nullptr || power->op != Op::k_exp) return false;
    const AccessNodeId follower = nodes_.producer(read.pieces.front().source);
    for (const AccessNodeId leader : nodes_.nodes()) {
      if (leader == follower) return false;
      const Cascade cascade = find_cascade(nodes_.graph(), follower, leader);
      if (cascade.rule == CascadeRule::kShiftedExp && cascade.center == cascade.leader) return true;
    }
    return false;
  }

  KernelNodes& nodes_;
  const AccessNodeId sum_;
  AccessValueId divisor_;
};

}  // namespace

void divide_late(KernelNodes& nodes) {
  const std::vector<AccessNodeId> all = nodes.nodes();  // a copy: nodes are added
  for (const AccessNodeId id : all) LateDivision(nodes, id).run();
}

}  // namespace stitch
