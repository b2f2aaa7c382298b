#include "planner/kernel/split_cascade.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "planner/structure/cascade.h"
#include "planner/structure/kernel_structure.h"

namespace stitch {
namespace {

class FollowerSplitter {
 public:
  FollowerSplitter(KernelNodes& nodes, const FollowerSplit& split)
      : nodes_(nodes),
        split_(split),
        part_(nodes.split_reduce(split.follower, split.parts, split.guards)),
        part_node_(nodes.producer(part_)) {}

  AccessValueId run() {
    make_center();
    const AccessValueId terms = moved(part_node().operands.front().pieces.front().source);
    set_operand(part_node_, terms);
    set_operand(split_.follower, join());
    return part_;
  }

 private:
  AccessNode part_node() const { return nodes_.graph().node(part_node_); }

  void set_operand(AccessNodeId node, AccessValueId value) {
    nodes_.graph().nodes[node.index].operands = {read_of(value)};
  }

  Read read_of(AccessValueId value) { return {{{value, own_index(nodes_.graph(), value), {}}}}; }

  // An element-wise node over the results per part.
  AccessValueId add(Op op, std::vector<Read> operands, AccessNodeId before) {
    return nodes_.add_node(over_parts(op, default_attributes(op), std::move(operands)), DType::kF32,
                           before);
  }
  AccessNode over_parts(Op op, Attributes attributes, std::vector<Read> operands) {
    const AccessNode part = part_node();
    AccessNode node;
    node.op = op;
    node.attributes = std::move(attributes);
    node.operands = std::move(operands);
    node.axes = part.axes;
    node.depth = part.depth;
    node.sources = part.sources;
    return node;
  }

  Read literal(double number) {
    return read_of(nodes_.graph().add_fill(Tensor::scalar(DType::kF32, number)));
  }

  // What the terms of a part refer to: its own maximum or mean.
  void make_center() {
    const Read leader = read_of(split_.leader_part);
    switch (split_.cascade.rule) {
      case CascadeRule::kNone:
        break;
      case CascadeRule::kShiftedExp: {
        const AccessValueId size = add(Op::k_abs, {leader}, part_node_);
        const AccessValueId finite = nodes_.add_node(
            over_parts(Op::k_compare, CompareAttributes{CompareKind::kLt},
                       {read_of(size), literal(std::numeric_limits<double>::infinity())}),
            DType::kBool, part_node_);
        center_ = add(Op::k_select, {read_of(finite), leader, literal(0)}, part_node_);
        nodes_.graph().values[center_.index].name = "shift";
        break;
      }
      case CascadeRule::kSquaredDistance: {
        AccessNode count = over_parts(Op::k_iota, IotaAttributes(), {});
        count.kind = AccessKind::kIndex;
        count.expression = existing_points(nodes_.graph(), part_node());
        count_ = nodes_.add_node(std::move(count), DType::kF32, part_node_);
        center_ = add(Op::k_div, {leader, read_of(count_)}, part_node_);
        nodes_.graph().values[center_.index].name = "part_mean";
        break;
      }
    }
  }

  // The value with the part's center in place of the row's; what does not depend on that stays.
  AccessValueId moved(AccessValueId value) {
    if (value == split_.cascade.center) return center_;
    const auto known = moved_.find(value);
    if (known != moved_.end()) return known->second;
    AccessValueId result = value;
    const AccessNodeId producer = nodes_.producer(value);
    if (producer.valid() && nodes_.graph().node(producer).kind == AccessKind::kElementwise) {
      AccessNode node = nodes_.graph().node(producer);
      bool changes = false;
      for (Read& operand : node.operands) {
        if (operand.pieces.size() != 1) continue;  // the rule allows no dependence through these
        const AccessValueId before = operand.pieces.front().source;
        const AccessValueId after = moved(before);
        if (after == before) continue;
        operand = read_of(after);
        changes = true;
      }
      if (changes) {
        for (const AtomId atom : split_.parts) {
          if (!contains(node.axes, atom)) node.axes.push_back(atom);
        }
        const DType dtype = nodes_.graph().value(value).dtype;
        result = nodes_.add_node(std::move(node), dtype, part_node_);
        nodes_.graph().values[result.index].name = nodes_.graph().value(value).name;
      }
    }
    moved_.emplace(value, result);
    return result;
  }

  // The terms whose sum over the parts is the whole.
  AccessValueId join() {
    const AccessNodeId before = split_.follower;
    const Read part = read_of(part_), whole_center = read_of(split_.cascade.center);
    if (split_.cascade.rule == CascadeRule::kShiftedExp) {
      const AccessValueId below =
          add(Op::k_sub, {read_of(split_.leader_part), whole_center}, before);
      const AccessValueId factor = add(Op::k_exp, {read_of(below)}, before);
      return add(Op::k_mul, {part, read_of(factor)}, before);
    }
    const AccessValueId distance = add(Op::k_sub, {read_of(center_), whole_center}, before);
    const AccessValueId square = add(Op::k_mul, {read_of(distance), read_of(distance)}, before);
    const AccessValueId between = add(Op::k_mul, {read_of(count_), read_of(square)}, before);
    return add(Op::k_add, {part, read_of(between)}, before);
  }

  KernelNodes& nodes_;
  const FollowerSplit& split_;
  const AccessValueId part_;
  const AccessNodeId part_node_;
  AccessValueId center_, count_;  // per part
  std::unordered_map<AccessValueId, AccessValueId> moved_;
};

}  // namespace

AccessValueId split_follower(KernelNodes& nodes, const FollowerSplit& split) {
  return FollowerSplitter(nodes, split).run();
}

}  // namespace stitch
