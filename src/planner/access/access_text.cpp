// The access graph as text, for dumps and tests.
//
//   n4 reduce f32[8,128] axes a0 a1 reduced a2 "y": x[a0, a1*64 + a2]
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "planner/access/access_graph.h"

namespace stitch {
namespace {

std::string value_text(const AccessGraph& graph, AccessValueId id) {
  const AccessValue& value = graph.value(id);
  return value.name.empty() ? fmt::format("v{}", id.index) : fmt::format("\"{}\"", value.name);
}

std::string guards_text(const AccessGraph& graph, const std::vector<Guard>& guards) {
  std::string text;
  for (const Guard& guard : guards) {
    text += fmt::format("{}{} in [{},{})", text.empty() ? "" : ", ",
                        graph.pool.to_string(guard.expr), guard.low, guard.high);
  }
  return text;
}

std::string read_text(const AccessGraph& graph, const Read& read) {
  std::string text;
  for (const Piece& piece : read.pieces) {
    if (!text.empty()) text += " | ";
    text += value_text(graph, piece.source) + "[";
    for (size_t d = 0; d < piece.index.size(); ++d) {
      text += (d > 0 ? ", " : "") + graph.pool.to_string(piece.index[d]);
    }
    text += "]";
    if (!piece.guards.empty()) text += " if " + guards_text(graph, piece.guards);
  }
  return text;
}

std::string atoms_text(const AccessGraph& graph, const std::vector<AtomId>& atoms) {
  std::string text;
  for (const AtomId atom : atoms) {
    text += fmt::format(" a{}:{}", atom.index, graph.pool.atom(atom).extent);
  }
  return text;
}

}  // namespace

std::string to_string(const AccessGraph& graph) {
  std::string text;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const AccessNode& node = graph.nodes[n];
    text += fmt::format("n{} {} depth {}", n, name(node.op), node.depth);
    for (const AccessValueId result : node.results) {
      text += fmt::format(" {} : {}{}", value_text(graph, result), name(graph.value(result).dtype),
                          fmt::format("[{}]", fmt::join(graph.value(result).extents, ",")));
    }
    text += " over" + atoms_text(graph, node.axes);
    if (!node.reduced.empty()) text += " reduced" + atoms_text(graph, node.reduced);
    if (!node.guards.empty()) text += " where " + guards_text(graph, node.guards);
    if (node.expression.valid()) text += " = " + graph.pool.to_string(node.expression);
    text += "\n";
    for (const ExprId target : node.target) {
      text += "    target " + (target.valid() ? graph.pool.to_string(target) : "read") + "\n";
    }
    for (const Read& read : node.operands) text += "    " + read_text(graph, read) + "\n";
  }
  for (size_t r = 0; r < graph.reads.size(); ++r) {
    text += fmt::format("read{}: {}\n", r, read_text(graph, graph.reads[r]));
  }
  for (const AccessOutput& output : graph.outputs) {
    text += fmt::format("output \"{}\" {}\n", output.name, value_text(graph, output.value));
  }
  return text;
}

}  // namespace stitch
