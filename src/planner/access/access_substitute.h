// Replaces atoms (and sources) in everything that an access graph holds: index expressions, guards,
// reads, and the reads inside of index expressions.
#pragma once
#include <unordered_map>

#include "planner/access/access_graph.h"

namespace stitch {

class AccessSubstitution {
 public:
  using SourceMap = std::unordered_map<AccessValueId, AccessValueId>;

  AccessSubstitution(AccessGraph& graph, IndexPool::AtomMap atoms, SourceMap sources = {});
  AccessSubstitution(const AccessSubstitution&) = delete;
  AccessSubstitution& operator=(const AccessSubstitution&) = delete;

  ExprId expr(ExprId id);
  // Drops pieces that can never be read and what follows a piece that always is.
  Read read(const Read& read);
  // The conjunction rewritten; false where it can never hold.
  bool guards(const std::vector<Guard>& from, std::vector<Guard>& to);

 private:
  ExprId index_read(ReadId id);

  AccessGraph& graph_;
  IndexPool::AtomMap atoms_;
  SourceMap sources_;
  IndexPool::ReadMap map_read_;
  IndexPool::ExprMemo exprs_;
  std::unordered_map<ReadId, ExprId> reads_;
};

}  // namespace stitch
