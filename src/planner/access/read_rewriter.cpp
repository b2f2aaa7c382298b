#include "planner/access/read_rewriter.h"

#include <algorithm>
#include <utility>

namespace stitch {

ReadRewriter::ReadRewriter(AccessGraph& graph, IndexPool::AtomMap atoms,
                           std::function<void(Piece&)> finish)
    : graph_(graph), atoms_(std::move(atoms)), finish_(std::move(finish)) {}

ExprId ReadRewriter::rewrite(ExprId expression) {
  return graph_.pool.substitute(expression, atoms_,
                                [this](ReadId read) { return rewrite_nested(read); });
}

void ReadRewriter::rewrite(Read& read) {
  for (Piece& piece : read.pieces) rewrite(piece);
}

void ReadRewriter::rewrite(Piece& piece) {
  for (ExprId& index : piece.index) index = rewrite(index);
  for (Guard& guard : piece.guards) guard.expr = rewrite(guard.expr);
  if (finish_) finish_(piece);
}

void ReadRewriter::rewrite(AccessNode& node) {
  for (Read& operand : node.operands) rewrite(operand);
  for (Guard& guard : node.guards) guard.expr = rewrite(guard.expr);
  for (ExprId& index : node.target) index = rewrite(index);
  if (node.expression.valid()) node.expression = rewrite(node.expression);
}

ExprId ReadRewriter::rewrite_nested(ReadId id) {
  if (const auto found = nested_.find(id); found != nested_.end()) return found->second;
  const Range range = graph_.pool.read_range(id);
  Read read = graph_.reads[id.index];
  rewrite(read);
  const ExprId expression = graph_.read_index(read, range.high + 1);
  nested_.emplace(id, expression);
  return expression;
}

namespace {

void collect_atoms(const AccessGraph& graph, ExprId expression, std::vector<AtomId>& atoms);

void collect_atoms(const AccessGraph& graph, const Read& read, std::vector<AtomId>& atoms) {
  for (const Piece& piece : read.pieces) {
    for (const ExprId index : piece.index) collect_atoms(graph, index, atoms);
    for (const Guard& guard : piece.guards) collect_atoms(graph, guard.expr, atoms);
  }
}

void collect_atoms(const AccessGraph& graph, ExprId expression, std::vector<AtomId>& atoms) {
  const std::vector<AtomId> own = graph.pool.atoms_of(expression);
  atoms.insert(atoms.end(), own.begin(), own.end());
  for (const ReadId read : graph.pool.reads_of(expression)) {
    collect_atoms(graph, graph.reads[read.index], atoms);
  }
}

std::vector<AtomId> without_duplicates(std::vector<AtomId> atoms) {
  std::sort(atoms.begin(), atoms.end());
  atoms.erase(std::unique(atoms.begin(), atoms.end()), atoms.end());
  return atoms;
}

}  // namespace

std::vector<AtomId> atoms_of(const AccessGraph& graph, const Read& read) {
  std::vector<AtomId> atoms;
  collect_atoms(graph, read, atoms);
  return without_duplicates(std::move(atoms));
}

std::vector<AtomId> atoms_of(const AccessGraph& graph, ExprId expression) {
  std::vector<AtomId> atoms;
  collect_atoms(graph, expression, atoms);
  return without_duplicates(std::move(atoms));
}

}  // namespace stitch
