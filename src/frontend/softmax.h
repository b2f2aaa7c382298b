// Softmax and its logarithm over any axes, as primitives; x in the type of the computation.
#pragma once
#include <vector>

#include "frontend/primitive_builder.h"

namespace stitch {

// exp(x - max) / sum(exp(x - max)); a row of -inf gives NaN.
ValueId softmax(PrimitiveBuilder& b, ValueId x, const std::vector<int>& axes);
// (x - max) - log(sum(exp(x - max)))
ValueId log_softmax(PrimitiveBuilder& b, ValueId x, const std::vector<int>& axes);

}  // namespace stitch
