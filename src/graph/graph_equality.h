// Equality and hashing of attributes, nodes and graphs.
#pragma once
#include <cstdint>

#include "graph/graph.h"

namespace stitch {

// Field by field; tensors by dtype, extents and bytes.
bool equal(const Attributes& a, const Attributes& b);
bool equal(const Tensor& a, const Tensor& b);
// Equal attributes hash equally; large tensors are sampled, not read.
uint64_t hash_of(const Attributes& attributes);
// The same nodes in the same order with the same operands, types, names and sources.
bool equal(const Graph& a, const Graph& b);

}  // namespace stitch
