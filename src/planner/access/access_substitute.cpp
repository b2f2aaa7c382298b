#include "planner/access/access_substitute.h"

#include <utility>

#include "planner/access/access_guards.h"

namespace stitch {

AccessSubstitution::AccessSubstitution(AccessGraph& graph, IndexPool::AtomMap atoms,
                                       SourceMap sources)
    : graph_(graph), atoms_(std::move(atoms)), sources_(std::move(sources)) {
  map_read_ = [this](ReadId id) { return index_read(id); };
}

ExprId AccessSubstitution::expr(ExprId id) {
  if (!id.valid()) return id;
  return graph_.pool.substitute(id, atoms_, map_read_, exprs_);
}

Read AccessSubstitution::read(const Read& read) {
  Read result;
  for (const Piece& from : read.pieces) {
    Piece to;
    if (!guards(from.guards, to.guards)) continue;
    const auto moved = sources_.find(from.source);
    to.source = moved == sources_.end() ? from.source : moved->second;
    for (const ExprId index : from.index) to.index.push_back(expr(index));
    const bool always = to.guards.empty();
    result.pieces.push_back(std::move(to));
    if (always) break;
  }
  return result;
}

bool AccessSubstitution::guards(const std::vector<Guard>& from, std::vector<Guard>& to) {
  for (const Guard& guard : from) {
    if (!require(graph_.pool, to, {expr(guard.expr), guard.low, guard.high})) return false;
  }
  return true;
}

ExprId AccessSubstitution::index_read(ReadId id) {
  if (auto found = reads_.find(id); found != reads_.end()) return found->second;
  const Read from = graph_.reads[id.index];  // a copy: new reads move the table
  const ExprId result = graph_.read_index(read(from), graph_.pool.read_range(id).high + 1);
  reads_.emplace(id, result);
  return result;
}

}  // namespace stitch
