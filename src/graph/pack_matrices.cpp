// Products of one value with several constant matrices: one product with the matrices side by side,
// which are packed when constants are folded, and slices of its columns. Rows of constants that
// were added to the results are added once.
//
//   q = matmul(x, wq) + bq; k = matmul(x, wk) + bk        wq[768,768], wk[768,64]
//   =>  y = matmul(x, concat(wq, wk)) + concat(bq, bk);  q = y[:, 0:768], k = y[:, 768:832]
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "graph/graph_equality.h"
#include "graph/graph_rewriter.h"
#include "graph/passes.h"

namespace stitch {
namespace {

// The right operand of a product: a constant, or the transpose of one.
struct Matrix {
  ValueId constant;
  bool transposed = false;
};

struct Bias {
  NodeId add;
  ValueId row;  // a constant of one element per column
};

struct Product {
  NodeId node;
  Matrix matrix;
  std::optional<Bias> bias;
  Dim first_column, end_column;  // in the packed product
};

struct Group {
  std::vector<Product> products;  // in id order
  ValueId packed;                 // new; once made
  ValueId packed_with_bias;       // new; none without any bias
};

class MatrixPacker {
 public:
  explicit MatrixPacker(const Graph& graph) : graph_(graph), rewriter_(graph) {
    for (const GraphOutput& output : graph.outputs()) outputs_.insert(output.value);
  }

  Graph run() {
    find_groups();
    keep_matrices_single();
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].products.size() < 2) continue;
      for (size_t p = 0; p < groups_[g].products.size(); ++p) {
        const Product& product = groups_[g].products[p];
        place_of_[product.node] = {g, p};
        if (product.bias) place_of_[product.bias->add] = {g, p};
      }
    }
    for (size_t n = 0; n < graph_.node_count(); ++n) {
      const auto found = place_of_.find(NodeId(n));
      if (found == place_of_.end()) {
        rewriter_.copy(NodeId(n));
      } else {
        take_from(groups_[found->second.first], found->second.second, NodeId(n));
      }
    }
    return rewriter_.finish();
  }

 private:
  void find_groups() {
    std::map<std::pair<ValueId, bool>, std::vector<size_t>> known;  // left operand, transposed
    for (size_t n = 0; n < graph_.node_count(); ++n) {
      const Node& node = graph_.node(NodeId(n));
      const std::optional<Matrix> matrix = matrix_of(node);
      if (!matrix || reaches_output(node.results[0])) continue;
      if (is_batch_of_products(node.results[0], graph_.type(node.results[0]).shape[0], false)) {
        continue;
      }
      std::vector<size_t>& candidates = known[{node.operands[0], matrix->transposed}];
      const auto same = std::find_if(candidates.begin(), candidates.end(), [&](size_t g) {
        const Node& first = graph_.node(groups_[g].products.front().node);
        return equal(first.attributes, node.attributes) &&
               graph_.type(first.results[0]).dtype == graph_.type(node.results[0]).dtype;
      });
      const size_t g = same == candidates.end() ? groups_.size() : *same;
      if (same == candidates.end()) {
        candidates.push_back(g);
        groups_.emplace_back();
      }
      groups_[g].products.push_back({NodeId(n), *matrix, bias_of(node.results[0]), {}, {}});
    }
  }

  // Of a product that is packed: of two dims, of more than one row (a product with a vector is a
  // reduction, which the planner stitches), with a matrix that only such products read.
  std::optional<Matrix> matrix_of(const Node& node) const {
    if (node.op != Op::k_matmul || graph_.type(node.results[0]).shape.size() != 2) return {};
    const Dim& rows = graph_.type(node.results[0]).shape[0];
    if (rows.is_constant() && rows.constant() < 2) return {};
    Matrix matrix = {node.operands[1], false};
    if (graph_.type(matrix.constant).shape.size() != 2 || !is_multiplied_only(matrix.constant)) {
      return {};
    }
    const NodeId producer = graph_.value(matrix.constant).producer;
    if (producer.valid() && graph_.node(producer).op == Op::k_transpose) {
      matrix = {graph_.node(producer).operands[0], true};
      if (graph_.value(matrix.constant).uses.size() != 1) return {};
    }
    return graph_.constant(matrix.constant) != nullptr ? std::optional(matrix) : std::nullopt;
  }

  bool is_multiplied_only(ValueId matrix) const {
    const std::vector<Use>& uses = graph_.value(matrix).uses;
    return outputs_.count(matrix) == 0 &&
           std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
             const Node& user = graph_.node(use.node);
             return user.op == Op::k_matmul && user.operands[1] == matrix &&
                    user.operands[0] != matrix;
           });
  }

  // Such a result would have to be copied out of the packed one.
  bool reaches_output(ValueId value) const {
    if (outputs_.count(value) != 0) return true;
    for (const Use& use : graph_.value(value).uses) {
      const Node& user = graph_.node(use.node);
      const bool moves = user.op == Op::k_reshape || user.op == Op::k_transpose;
      if (moves && reaches_output(user.results[0])) return true;
    }
    return false;
  }

  // Whether products read the value with its rows split into several dims: a batch of heads times a
  // batch of sentences. A packed result has no single stride for that, its parts have.
  bool is_batch_of_products(ValueId value, const Dim& rows, bool is_split) const {
    is_split = is_split || splits(graph_.type(value).shape, rows);
    for (const Use& use : graph_.value(value).uses) {
      const Node& user = graph_.node(use.node);
      if (user.op == Op::k_matmul) {
        if (is_split) return true;
        continue;
      }
      const bool moves = user.op == Op::k_reshape || user.op == Op::k_transpose ||
                         user.op == Op::k_broadcast || user.op == Op::k_slice;
      const bool is_followed = moves || is_with_constant(user, value);
      if (is_followed && is_batch_of_products(user.results[0], rows, is_split)) return true;
    }
    return false;
  }

  // Whether the first dims are the rows, and more than one of them is larger than 1.
  static bool splits(const Shape& shape, const Dim& rows) {
    if (!is_constant(shape) || !rows.is_constant()) return true;
    int64_t product = 1;
    int large = 0;
    for (size_t d = 0; d < shape.size() && product < rows.constant(); ++d) {
      product *= shape[d].constant();
      large += shape[d].constant() > 1 ? 1 : 0;
    }
    return product == rows.constant() && large > 1;
  }

  // A row or a factor that goes into library calls.
  bool is_with_constant(const Node& node, ValueId value) const {
    if (node.op != Op::k_add && node.op != Op::k_mul && node.op != Op::k_div) return false;
    const ValueId other = node.operands[0] == value ? node.operands[1] : node.operands[0];
    const NodeId producer = graph_.value(other).producer;
    if (!producer.valid() || graph_.node(producer).op != Op::k_broadcast) return false;
    const ValueId source = graph_.node(producer).operands[0];
    const size_t most_dims = node.op == Op::k_add ? 1 : 0;
    return graph_.constant(source) != nullptr && graph_.type(source).shape.size() <= most_dims;
  }

  // A row of constants that is added to the whole result, which nothing else reads.
  std::optional<Bias> bias_of(ValueId product) const {
    const Dim columns = graph_.type(product).shape[1];
    ValueId sum = product;
    for (int step = 0; step < 2; ++step) {
      if (graph_.value(sum).uses.size() != 1) return {};
      const NodeId user = graph_.value(sum).uses.front().node;
      const Node& node = graph_.node(user);
      if (node.op == Op::k_reshape) {
        sum = node.results[0];
        const Shape& shape = graph_.type(sum).shape;
        if (shape.empty() || !(shape.back() == columns)) return {};
        continue;
      }
      if (node.op != Op::k_add || reaches_output(node.results[0])) return {};
      const ValueId other = node.operands[0] == sum ? node.operands[1] : node.operands[0];
      const NodeId producer = graph_.value(other).producer;
      if (!producer.valid() || graph_.node(producer).op != Op::k_broadcast) return {};
      const Node& broadcast = graph_.node(producer);
      const auto& axes = attributes_as<BroadcastAttributes>(broadcast.attributes).axes;
      const ValueId row = broadcast.operands[0];
      const Shape& shape = graph_.type(row).shape;
      const auto last = static_cast<int>(graph_.type(sum).shape.size()) - 1;
      const bool is_row = axes == std::vector<int>{last} && shape.size() == 1 &&
                          shape[0] == columns && graph_.constant(row) != nullptr;
      return is_row ? std::optional(Bias{user, row}) : std::nullopt;
    }
    return {};
  }

  // A matrix that is packed with different ones in different places would be stored several times.
  void keep_matrices_single() {
    std::map<ValueId, std::set<std::vector<ValueId>>> packs;
    std::vector<std::vector<ValueId>> pack_of;
    for (const Group& group : groups_) {
      std::vector<ValueId> pack;
      for (const Product& product : group.products) pack.push_back(product.matrix.constant);
      for (const ValueId matrix : pack) packs[matrix].insert(pack);
      pack_of.push_back(std::move(pack));
    }
    for (size_t g = 0; g < groups_.size(); ++g) {
      const bool single = std::all_of(pack_of[g].begin(), pack_of[g].end(),
                                      [&](ValueId matrix) { return packs.at(matrix).size() == 1; });
      if (!single) groups_[g].products.clear();
    }
  }

  void take_from(Group& group, size_t position, NodeId id) {
    if (!group.packed.valid()) multiply(group);
    const Product& product = group.products[position];
    const Node& node = graph_.node(id);
    // Nothing will read what the product gives before its own row is added.
    const bool before_sum = id == product.node && product.bias;
    const bool adds = group.packed_with_bias.valid() && !before_sum;
    const ValueId from = adds ? group.packed_with_bias : group.packed;
    const Dim rows = graph_.type(graph_.node(product.node).results[0]).shape[0];
    const SliceAttributes columns = {
        {Dim(0), product.first_column}, {rows, product.end_column}, {1, 1}};
    Graph& to = rewriter_.to();
    ValueId part = to.add(Op::k_slice, {from}, columns, node.sources);
    const ValueType& type = graph_.type(node.results[0]);
    if (type.shape.size() != 2) part = to.add(Op::k_reshape, {part}, {}, node.sources, &type);
    rewriter_.replace(node.results[0], part);
  }

  void multiply(Group& group) {
    Graph& to = rewriter_.to();
    const Node& first = graph_.node(group.products.front().node);
    const bool transposed = group.products.front().matrix.transposed;
    std::vector<ValueId> matrices;
    std::set<SourceId> sources, bias_sources;
    Dim columns(0);
    bool some_bias = false;
    for (Product& product : group.products) {
      const Node& node = graph_.node(product.node);
      matrices.push_back(to.add_constant(*graph_.constant(product.matrix.constant),
                                         graph_.value(product.matrix.constant).name));
      sources.insert(node.sources.begin(), node.sources.end());
      if (product.bias) {
        const std::vector<SourceId>& added = graph_.node(product.bias->add).sources;
        bias_sources.insert(added.begin(), added.end());
      }
      some_bias = some_bias || product.bias.has_value();
      product.first_column = columns;
      columns = columns + graph_.type(node.results[0]).shape[1];
      product.end_column = columns;
    }
    ValueId matrix = to.add(Op::k_concat, matrices, AxisAttributes{transposed ? 0 : 1});
    if (transposed) matrix = to.add(Op::k_transpose, {matrix}, TransposeAttributes{{1, 0}});
    group.packed = to.add(Op::k_matmul, {rewriter_.map(first.operands[0]), matrix},
                          first.attributes, {sources.begin(), sources.end()});
    if (!some_bias) return;
    std::vector<ValueId> rows;
    for (const Product& product : group.products) rows.push_back(row_of(product));
    const ValueId row = to.add(Op::k_concat, rows, AxisAttributes{0});
    const ValueType type = to.type(group.packed);
    const ValueId wide = to.add(Op::k_broadcast, {row}, BroadcastAttributes{{1}}, {}, &type);
    group.packed_with_bias =
        to.add(Op::k_add, {group.packed, wide}, {}, {bias_sources.begin(), bias_sources.end()});
  }

  // To a product without bias -0 is added, which leaves every number as it is.
  ValueId row_of(const Product& product) {
    Graph& to = rewriter_.to();
    if (product.bias) {
      return to.add_constant(*graph_.constant(product.bias->row),
                             graph_.value(product.bias->row).name);
    }
    const ValueType& type = graph_.type(graph_.node(product.node).results[0]);
    const ValueType row = {type.dtype, {type.shape[1]}};
    const ValueId zero = to.add_constant(Tensor::scalar(type.dtype, -0.0));
    return to.add(Op::k_broadcast, {zero}, BroadcastAttributes{{}}, {}, &row);
  }

  const Graph& graph_;
  GraphRewriter rewriter_;
  std::set<ValueId> outputs_;
  std::vector<Group> groups_;
  std::map<NodeId, std::pair<size_t, size_t>> place_of_;  // group, product in it
};

}  // namespace

Graph pack_matrices(const Graph& graph) { return MatrixPacker(graph).run(); }

}  // namespace stitch
