// Copies around contractions: taken over from a result, put in before an operand.
#pragma once
#include <optional>
#include <vector>

#include "planner/access/access_graph.h"

namespace stitch {

// A contraction whose result is read by nothing but a copy computes the copy instead, over the
// copy's atoms: a transposed output costs no kernel.
void write_copies_directly(AccessGraph& graph);

// What `contraction` computes, as a node with the atoms and results of the node that reads its
// result by `piece`; none where the reader does not read each element once.
std::optional<AccessNode> computed_by_reader(AccessGraph& graph, const AccessNode& contraction,
                                             const Piece& piece, const AccessNode& reader);

// For every value, the nodes that read it.
std::vector<std::vector<AccessNodeId>> readers_of(const AccessGraph& graph);

// Of AccessValueId: values that exactly one node reads and that are no outputs.
std::vector<bool> values_read_once(const AccessGraph& graph);

struct OperandCopy {
  AccessNodeId contraction;
  size_t operand = 0;
};

// Atoms of the contraction that an operand is read with: those of the result first, then the
// reduced ones.
std::vector<AtomId> operand_atoms(const AccessGraph& graph, const AccessNode& node, size_t operand);

// Each operand is copied by a node of its own into row-major storage, one dim per atom.
void insert_operand_copies(AccessGraph& graph, const std::vector<OperandCopy>& copies);

}  // namespace stitch
