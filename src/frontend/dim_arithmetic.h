// Operators on tensors of symbolic extents: the algebra of Dim, element by element.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "frontend/element_tensor.h"

namespace stitch {

// The result of Add, Sub, Mul, Div, Mod, Min, Max, Neg, Equal, Less..., Not, And, Or, Where on
// broadcasting operands; nothing where the operator has no rule or the outcome cannot be proved.
// Every symbolic expression is taken to be at least 0, as an extent is.
std::optional<ElementTensor> fold_dims(std::string_view op_type,
                                       const std::vector<const ElementTensor*>& operands);

}  // namespace stitch
