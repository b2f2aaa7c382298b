// Einsum equations: parsing, and lowering to transposes, reductions and matmuls.
#pragma once
#include <string>
#include <vector>

#include "frontend/primitive_builder.h"

namespace stitch {

// One label for each axis. Letters are themselves; the axes that an ellipsis stands for are the
// digits '0', '1' ... counted from the last such axis.
struct EinsumEquation {
  std::vector<std::string> operands;
  std::string result;
};

// "...ij,jk->...ik" for operands of the given ranks. ModelError for what is malformed. Without
// "->" the result has the labels that occur once, sorted, after the ellipsis.
EinsumEquation parse_einsum(const std::string& equation, const std::vector<size_t>& ranks);

ValueId einsum(PrimitiveBuilder& b, const EinsumEquation& equation, std::vector<ValueId> operands);

}  // namespace stitch
