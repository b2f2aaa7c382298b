#include "planner/absorb/absorb_copies.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "graph/strided_copy.h"
#include "planner/access/access_prune.h"
#include "planner/access/access_substitute.h"

namespace stitch {
namespace {

// The atoms of `value` as atoms of the one who reads it by `piece`, when both have the same atoms
// in another order.
std::optional<IndexPool::AtomMap> renaming(AccessGraph& graph, const Piece& piece,
                                           const std::vector<AtomId>& reader_axes) {
  if (!piece.guards.empty()) return std::nullopt;
  const std::vector<std::vector<AtomId>> dims = graph.value(piece.source).dims;
  IndexPool::AtomMap map;
  std::set<AtomId> used;
  for (size_t d = 0; d < dims.size(); ++d) {
    std::vector<int64_t> extents;
    for (const AtomId atom : dims[d]) extents.push_back(graph.pool.atom(atom).extent);
    const std::vector<ExprId> parts = graph.pool.delinearise(piece.index[d], extents);
    for (size_t i = 0; i < parts.size(); ++i) {
      const AtomId atom = graph.pool.as_atom(parts[i]);
      if (!atom.valid() || graph.pool.atom(atom).extent != extents[i]) return std::nullopt;
      if (!used.insert(atom).second) return std::nullopt;
      map.emplace(dims[d][i], parts[i]);
    }
  }
  const bool all = std::all_of(reader_axes.begin(), reader_axes.end(),
                               [&](AtomId atom) { return used.count(atom) > 0; });
  if (!all || used.size() != reader_axes.size()) return std::nullopt;
  return map;
}

bool is_copy(const AccessGraph& graph, const AccessNode& node) {
  return node.kind == AccessKind::kElementwise && node.op == Op::k_bitcast &&
         node.operands[0].pieces.size() == 1 &&
         graph.value(node.operands[0].pieces[0].source).dtype == graph.value(node.results[0]).dtype;
}

}  // namespace

void write_copies_directly(AccessGraph& graph) {
  const std::vector<bool> once = values_read_once(graph);
  bool changed = false;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!is_copy(graph, graph.nodes[n])) continue;
    const Piece piece = graph.nodes[n].operands[0].pieces[0];
    const AccessNodeId producer = graph.value(piece.source).producer;
    if (!producer.valid() || !once[piece.source.index]) continue;
    if (graph.node(producer).kind != AccessKind::kContraction) continue;
    auto moved = computed_by_reader(graph, graph.node(producer), piece, graph.nodes[n]);
    if (!moved) continue;
    graph.nodes[n] = *std::move(moved);
    changed = true;
  }
  if (changed) remove_unread_nodes(graph);
}

std::optional<AccessNode> computed_by_reader(AccessGraph& graph, const AccessNode& contraction,
                                             const Piece& piece, const AccessNode& reader) {
  auto map = renaming(graph, piece, reader.axes);
  if (!map) return std::nullopt;
  AccessNode moved = contraction;
  moved.axes = reader.axes;
  moved.results = reader.results;
  for (AtomId& atom : moved.reduced) {
    if (std::find(moved.axes.begin(), moved.axes.end(), atom) == moved.axes.end()) continue;
    const AtomId other = graph.pool.add_atom(graph.pool.atom(atom).extent);
    map->emplace(atom, graph.pool.of(other));
    atom = other;
  }
  AccessSubstitution substitution(graph, *std::move(map));
  for (Read& read : moved.operands) read = substitution.read(read);
  return moved;
}

std::vector<std::vector<AccessNodeId>> readers_of(const AccessGraph& graph) {
  std::vector<std::vector<AccessNodeId>> readers(graph.values.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const AccessValueId source : sources_of(graph, graph.nodes[n])) {
      readers[source.index].push_back(AccessNodeId(n));
    }
  }
  return readers;
}

std::vector<bool> values_read_once(const AccessGraph& graph) {
  std::vector<int> readers(graph.values.size(), 0);
  for (const AccessNode& node : graph.nodes) {
    for (const AccessValueId source : sources_of(graph, node)) ++readers[source.index];
  }
  for (const AccessOutput& output : graph.outputs) readers[output.value.index] += 2;
  std::vector<bool> once(readers.size());
  for (size_t v = 0; v < readers.size(); ++v) once[v] = readers[v] == 1;
  return once;
}

std::vector<AtomId> operand_atoms(const AccessGraph& graph, const AccessNode& node,
                                  size_t operand) {
  std::set<AtomId> read;
  const auto add = [&](ExprId expr) {
    for (const AtomId atom : graph.pool.atoms_of(expr)) read.insert(atom);
  };
  std::vector<const Read*> open = {&node.operands[operand]};
  while (!open.empty()) {
    const Read& next = *open.back();
    open.pop_back();
    for (const Piece& piece : next.pieces) {
      std::vector<ExprId> exprs = piece.index;
      for (const Guard& guard : piece.guards) exprs.push_back(guard.expr);
      for (const ExprId expr : exprs) {
        add(expr);
        for (const ReadId id : graph.pool.reads_of(expr)) open.push_back(&graph.reads[id.index]);
      }
    }
  }
  std::vector<AtomId> atoms;
  for (const auto* list : {&node.axes, &node.reduced}) {
    for (const AtomId atom : *list) {
      if (read.count(atom) > 0) atoms.push_back(atom);
    }
  }
  return atoms;
}

void insert_operand_copies(AccessGraph& graph, const std::vector<OperandCopy>& copies) {
  if (copies.empty()) return;
  std::vector<AccessNode> nodes;
  size_t next = 0;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    AccessNode node = std::move(graph.nodes[n]);
    for (; next < copies.size() && copies[next].contraction.index == n; ++next) {
      Read& operand = node.operands[copies[next].operand];
      AccessNode copy;
      copy.op = Op::k_bitcast;
      copy.axes = operand_atoms(graph, node, copies[next].operand);
      copy.sources = node.sources;
      AccessValue value;
      value.dtype = graph.value(operand.pieces[0].source).dtype;
      Piece whole;
      whole.source = AccessValueId(graph.values.size());
      for (const AtomId atom : copy.axes) {
        value.dims.push_back({atom});
        value.extents.push_back(graph.pool.atom(atom).extent);
        whole.index.push_back(graph.pool.of(atom));
      }
      value.strides = row_major_strides(value.extents);
      copy.results = {whole.source};
      copy.operands.push_back(std::exchange(operand, Read{{whole}}));
      graph.values.push_back(std::move(value));
      nodes.push_back(std::move(copy));
    }
    nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const AccessValueId result : graph.nodes[n].results) {
      graph.values[result.index].producer = AccessNodeId(n);
    }
  }
}

}  // namespace stitch
