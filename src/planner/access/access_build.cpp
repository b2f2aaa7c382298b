#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <variant>

#include "graph/error.h"
#include "graph/strided_copy.h"
#include "planner/access/access_builder.h"
#include "planner/access/access_prune.h"
#include "planner/access/regions.h"

namespace stitch {
namespace {

// Nodes that outputs need, each behind its operands: depth first, from the first output and the
// first operand on. So a plan does not depend on the order in which the graph lists its nodes.
std::vector<NodeId> needed_nodes(const Graph& graph) {
  enum class State : uint8_t { kNew, kOpen, kDone };
  std::vector<State> states(graph.node_count(), State::kNew);
  std::vector<NodeId> order, open;
  const auto add = [&](ValueId value) {
    const NodeId producer = graph.value(value).producer;
    if (producer.valid() && states[producer.index] != State::kDone) open.push_back(producer);
  };
  for (const GraphOutput& output : graph.outputs()) {
    add(output.value);
    while (!open.empty()) {
      const NodeId node = open.back();
      State& state = states[node.index];
      if (state == State::kNew) {
        state = State::kOpen;
        const auto& operands = graph.node(node).operands;
        for (auto operand = operands.rbegin(); operand != operands.rend(); ++operand) add(*operand);
        continue;
      }
      open.pop_back();
      if (state == State::kOpen) order.push_back(node);
      state = State::kDone;
    }
  }
  return order;
}

std::vector<bool> live_nodes(const Graph& graph) {
  std::vector<bool> live(graph.node_count());
  for (const NodeId node : needed_nodes(graph)) live[node.index] = true;
  return live;
}

void set_origins(AccessGraph& access) {
  std::map<std::pair<Op, SourceId>, int> known;
  for (AccessNode& node : access.nodes) {
    const SourceId source = node.sources.empty() ? SourceId() : node.sources.front();
    node.origin = {source, known[{node.op, source}]++};
  }
}

}  // namespace

AccessGraph build_access_graph(const Graph& graph) { return AccessBuilder(graph).build(); }

AccessBuilder::AccessBuilder(const Graph& graph)
    : graph_(graph), axes_(unify_axes(graph, live_nodes(graph))), composer_(graph, access_) {
  access_.graph = &graph;
}

AccessGraph AccessBuilder::build() {
  for (const ValueId input : graph_.inputs()) {
    access_.inputs.push_back(add_value(AccessValueKind::kInput, input));
  }
  for (const NodeId node : needed_nodes(graph_)) build_node(node);
  for (const GraphOutput& output : graph_.outputs()) add_output(output);
  remove_unread_nodes(access_);
  set_depths(access_);
  set_origins(access_);
  return std::move(access_);
}

void AccessBuilder::build_node(NodeId id) {
  const Node& node = graph_.node(id);
  if (is_composed(graph_, node)) return limit_pieces(id);
  switch (facts(node.op).op_class) {
    case OpClass::k_light:
    case OpClass::k_expensive:
      return finish(elementwise(node), node.results);
    case OpClass::k_generator:
      if (node.op == Op::k_constant) {
        add_value(AccessValueKind::kConstant, node.results[0]);
        return;
      }
      return finish(generator(node), node.results);
    case OpClass::k_indexed:
      return finish(scatter(id), node.results);
    case OpClass::k_reduce:
      return finish(reduce(id), node.results);
    case OpClass::k_window:
      return finish(window(id), node.results);
    case OpClass::k_scan:
      return finish(node.op == Op::k_top_k ? sort(id) : scan(id), node.results);
    case OpClass::k_contraction:
      if (node.op == Op::k_matmul) return finish(matmul(id), node.results);
      return finish(node.op == Op::k_conv ? conv(id) : conv_transpose(id), node.results);
    case OpClass::k_movement:
    case OpClass::k_control:
    case OpClass::k_dynamic:
      throw ModelError("no kernel can be planned for " + graph_.describe(id));
  }
}

// A concat of many parts becomes a copy node; parts that are concats themselves do so first.
void AccessBuilder::limit_pieces(NodeId id) {
  const Node& node = graph_.node(id);
  const ValueId result = node.results[0];
  while (composer_.piece_count(result) > kMostPieces) {
    const auto widest = std::max_element(
        node.operands.begin(), node.operands.end(),
        [&](ValueId a, ValueId b) { return composer_.piece_count(a) < composer_.piece_count(b); });
    if (composer_.piece_count(*widest) == 1) {
      copy(result);
      return;
    }
    copy(*widest);
  }
}

void AccessBuilder::add_output(const GraphOutput& output) {
  AccessValueId value = composer_.placed(output.value);
  const auto taken = [&](const AccessOutput& other) { return other.value == value; };
  if (!value.valid() || access_.value(value).kind != AccessValueKind::kNode ||
      std::any_of(access_.outputs.begin(), access_.outputs.end(), taken)) {
    value = copy(output.value);
  }
  access_.outputs.push_back({output.name, value});
}

// Reads of the value end at the copy from now on.
AccessValueId AccessBuilder::copy(ValueId value) {
  AccessNode node;
  node.kind = AccessKind::kElementwise;
  node.op = Op::k_bitcast;
  for (const AxisSequence& dim : axes_.dims[value.index]) {
    const auto more = atoms(dim);
    node.axes.insert(node.axes.end(), more.begin(), more.end());
  }
  node.operands.push_back(composer_.read(value, index_of(value)));
  const NodeId producer = graph_.value(value).producer;
  if (producer.valid()) node.sources = graph_.node(producer).sources;
  finish(std::move(node), {value});
  return composer_.placed(value);
}

AccessNode AccessBuilder::start(AccessKind kind, const Node& node) {
  AccessNode result;
  result.kind = kind;
  result.op = node.op;
  result.attributes = node.attributes;
  result.sources = node.sources;
  for (const AxisSequence& dim : axes_.dims[node.results[0].index]) {
    const auto more = atoms(dim);
    result.axes.insert(result.axes.end(), more.begin(), more.end());
  }
  return result;
}

void AccessBuilder::finish(AccessNode node, const std::vector<ValueId>& results) {
  const AccessNodeId id(access_.nodes.size());
  for (size_t r = 0; r < results.size(); ++r) {
    const AccessValueId value = add_value(AccessValueKind::kNode, results[r]);
    access_.values[value.index].producer = id;
    access_.values[value.index].result = static_cast<int>(r);
    node.results.push_back(value);
  }
  access_.nodes.push_back(std::move(node));
}

AccessValueId AccessBuilder::add_value(AccessValueKind kind, ValueId value) {
  AccessValue result;
  result.kind = kind;
  result.dtype = graph_.type(value).dtype;
  for (const AxisSequence& dim : axes_.dims[value.index]) result.dims.push_back(atoms(dim));
  result.extents = extents(value);
  result.strides = row_major_strides(result.extents);
  result.graph_value = value;
  result.name = graph_.value(value).name;
  access_.values.push_back(std::move(result));
  const AccessValueId id(access_.values.size() - 1);
  composer_.place(value, id);
  return id;
}

Read AccessBuilder::filled(const GuardedRead& inside, AccessValueId otherwise) {
  Read read;
  if (inside.ever) {
    for (Piece piece : inside.read.pieces) {
      piece.guards.insert(piece.guards.begin(), inside.guards.begin(), inside.guards.end());
      read.pieces.push_back(std::move(piece));
    }
    if (inside.guards.empty()) return read;
  }
  Piece fill;
  fill.source = otherwise;
  read.pieces.push_back(std::move(fill));
  return read;
}

AccessBuilder::Index AccessBuilder::index_of(ValueId value) {
  Index index;
  for (const AxisSequence& dim : axes_.dims[value.index]) {
    index.push_back(dim_index(access_.pool, atoms(dim)));
  }
  return index;
}

AccessBuilder::Index AccessBuilder::reduced_index(NodeId id, std::vector<AtomId>& reduced) {
  Index index;
  for (const AxisSequence& dim : axes_.reduced[id.index]) {
    const auto more = atoms(dim);
    index.push_back(dim_index(access_.pool, more));
    reduced.insert(reduced.end(), more.begin(), more.end());
  }
  return index;
}

std::vector<AtomId> AccessBuilder::atoms(const AxisSequence& axes) {
  std::vector<AtomId> result;
  for (const Axis axis : axes_.classes.leaves(axes)) {
    if (axis >= atom_of_axis_.size()) atom_of_axis_.resize(axis + 1);
    AtomId& atom = atom_of_axis_[axis];
    if (!atom.valid()) atom = access_.pool.add_atom(axes_.classes.extent(axis));
    result.push_back(atom);
  }
  return result;
}

}  // namespace stitch
