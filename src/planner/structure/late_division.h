// Divides a sum instead of its terms: where a softmax is divided by its sum before it weighs what
// is added up, the sum of the products is divided once, and no longer waits for the divisor.
//
//   t = sum over c of e[c] / s * v[c],  e[c] = exp(x[c] - max x),  s = sum over c of e[c]
//     ->  t = (sum over c of e[c] * v[c]) / s
//
// Both sums then follow the maximum (structure/cascade.h). The divisor is at least one, or no
// number: nothing is divided by zero that was not before. (The commuting rule of row factors:
// FlashAttention, arXiv 2205.14135, section 3)
#pragma once
#include "planner/structure/kernel_nodes.h"

namespace stitch {

void divide_late(KernelNodes& nodes);

}  // namespace stitch
