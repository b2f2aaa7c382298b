// Rewrites reads: atoms by expressions, also inside of reads that stand in index expressions, and
// pieces by a function of the caller.
#pragma once
#include <functional>
#include <unordered_map>
#include <vector>

#include "planner/access/access_graph.h"

namespace stitch {

class ReadRewriter {
 public:
  // `finish` sees every piece after its expressions were rewritten; may be empty.
  ReadRewriter(AccessGraph& graph, IndexPool::AtomMap atoms,
               std::function<void(Piece&)> finish = {});

  ExprId rewrite(ExprId expression);
  void rewrite(Read& read);
  void rewrite(Piece& piece);
  // Operands, guards and expressions of a node; not its lists of atoms.
  void rewrite(AccessNode& node);

 private:
  ExprId rewrite_nested(ReadId read);

  AccessGraph& graph_;
  IndexPool::AtomMap atoms_;
  std::function<void(Piece&)> finish_;
  std::unordered_map<ReadId, ExprId> nested_;
};

// Atoms anywhere in a read, also in the reads inside of it; sorted, without duplicates.
std::vector<AtomId> atoms_of(const AccessGraph& graph, const Read& read);
std::vector<AtomId> atoms_of(const AccessGraph& graph, ExprId expression);

}  // namespace stitch
