// Products of one matrix with slices of one value, as an unrolled recurrence leaves them: one
// product of the whole value, and slices of it. The matrix is read once instead of once per step.
//
//   x[101,1,512], w[512,1024]; for each t: matmul(reshape(slice x[t]), w)
//   =>  y = matmul(reshape x [101,512], w); for each t: reshape(slice y[t])
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "graph/graph_equality.h"
#include "graph/graph_rewriter.h"
#include "graph/passes.h"

namespace stitch {
namespace {

// A left operand that is whole rows of `source`: all of its last axis, steps of one.
struct RowSlice {
  ValueId source;
  const SliceAttributes* slice = nullptr;
  int64_t rows = 0;
};

int64_t row_count(const Shape& shape) {
  int64_t rows = 1;
  for (size_t axis = 0; axis + 1 < shape.size(); ++axis) rows *= shape[axis].constant();
  return rows;
}

std::optional<RowSlice> row_slice(const Graph& graph, ValueId operand) {
  const auto node_behind = [&](ValueId value) -> const Node* {
    const NodeId producer = graph.value(value).producer;
    return producer.valid() ? &graph.node(producer) : nullptr;
  };
  const Node* node = node_behind(operand);
  if (node == nullptr) return std::nullopt;
  const Shape& rows = graph.type(operand).shape;
  if (node->op == Op::k_reshape) {
    const Shape& before = graph.type(node->operands[0]).shape;
    if (before.empty() || !(before.back() == rows.back())) return std::nullopt;
    node = node_behind(node->operands[0]);
  }
  if (node == nullptr || node->op != Op::k_slice) return std::nullopt;
  const ValueId source = node->operands[0];
  const Shape& whole = graph.type(source).shape;
  if (!is_constant(whole) || !is_constant(rows) || !(whole.back() == rows.back())) {
    return std::nullopt;
  }
  const auto& slice = attributes_as<SliceAttributes>(node->attributes);
  const bool dense = std::all_of(slice.steps.begin(), slice.steps.end(),
                                 [](int64_t step) { return step == 1; });
  if (!dense || !is_constant(slice.starts)) return std::nullopt;
  return RowSlice{source, &slice, row_count(rows)};
}

struct Group {
  std::vector<NodeId> products;  // in id order
  std::set<std::vector<int64_t>> starts;
  int64_t rows = 0;      // of different slices
  ValueId whole_result;  // new: of the merged product, in the shape of the source; once made
};

class ProductMerger {
 public:
  explicit ProductMerger(const Graph& graph) : graph_(graph), rewriter_(graph) {}

  Graph run() {
    find_groups();
    for (size_t n = 0; n < graph_.node_count(); ++n) {
      const auto found = group_of_.find(NodeId(n));
      if (found == group_of_.end() || !is_worthwhile(groups_[found->second])) {
        rewriter_.copy(NodeId(n));
      } else {
        take_from(groups_[found->second], NodeId(n));
      }
    }
    return rewriter_.finish();
  }

 private:
  void find_groups() {
    std::map<std::pair<ValueId, ValueId>, std::vector<size_t>> known;  // source, matrix -> groups
    for (size_t n = 0; n < graph_.node_count(); ++n) {
      const Node& node = graph_.node(NodeId(n));
      if (node.op != Op::k_matmul || graph_.type(node.results[0]).shape.size() != 2) continue;
      const auto slice = row_slice(graph_, node.operands[0]);
      if (!slice) continue;
      std::vector<size_t>& candidates = known[{slice->source, node.operands[1]}];
      const auto same = std::find_if(candidates.begin(), candidates.end(), [&](size_t g) {
        const Node& first = graph_.node(groups_[g].products.front());
        return equal(first.attributes, node.attributes) &&
               graph_.type(first.results[0]).dtype == graph_.type(node.results[0]).dtype;
      });
      const size_t g = same == candidates.end() ? groups_.size() : *same;
      if (same == candidates.end()) {
        candidates.push_back(g);
        groups_.emplace_back();
      }
      Group& group = groups_[g];
      group.products.push_back(NodeId(n));
      std::vector<int64_t> starts;
      for (const Dim& start : slice->slice->starts) starts.push_back(start.constant());
      if (group.starts.insert(starts).second) group.rows += slice->rows;
      group_of_.emplace(NodeId(n), g);
    }
  }

  // Rows that nobody asked for are computed too: at most as many as were asked for.
  bool is_worthwhile(const Group& group) const {
    if (group.starts.size() < 2) return false;
    const Node& first = graph_.node(group.products.front());
    const ValueId source = row_slice(graph_, first.operands[0])->source;
    return 2 * group.rows >= row_count(graph_.type(source).shape);
  }

  void take_from(Group& group, NodeId product) {
    const Node& node = graph_.node(product);
    const RowSlice slice = *row_slice(graph_, node.operands[0]);
    if (!group.whole_result.valid()) group.whole_result = multiply(group, slice.source);
    const Dim columns = graph_.type(node.results[0]).shape[1];
    SliceAttributes part = *slice.slice;
    part.limits.back() = columns;
    Graph& to = rewriter_.to();
    const ValueId rows = to.add(Op::k_slice, {group.whole_result}, part, node.sources);
    const ValueType& type = graph_.type(node.results[0]);
    rewriter_.replace(node.results[0], to.add(Op::k_reshape, {rows}, {}, node.sources, &type));
  }

  ValueId multiply(const Group& group, ValueId source) {
    Graph& to = rewriter_.to();
    const Node& first = graph_.node(group.products.front());
    std::set<SourceId> all;
    for (const NodeId product : group.products) {
      all.insert(graph_.node(product).sources.begin(), graph_.node(product).sources.end());
    }
    const std::vector<SourceId> sources(all.begin(), all.end());
    const ValueType& from = graph_.type(source);
    const ValueType flat = {from.dtype, {Dim(row_count(from.shape)), from.shape.back()}};
    const ValueId rows =
        to.add(Op::k_reshape, {rewriter_.map(source)}, {}, first.sources, &flat);
    const ValueId product =
        to.add(Op::k_matmul, {rows, rewriter_.map(first.operands[1])}, first.attributes, sources);
    ValueType whole = {graph_.type(first.results[0]).dtype, from.shape};
    whole.shape.back() = graph_.type(first.results[0]).shape[1];
    return to.add(Op::k_reshape, {product}, {}, first.sources, &whole);
  }

  const Graph& graph_;
  GraphRewriter rewriter_;
  std::vector<Group> groups_;
  std::map<NodeId, size_t> group_of_;
};

}  // namespace

Graph merge_products(const Graph& graph) { return ProductMerger(graph).run(); }

}  // namespace stitch
