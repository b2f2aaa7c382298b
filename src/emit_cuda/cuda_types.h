// C++ types and literals of element types: how a value lies in memory and how a register holds it.
#pragma once
#include <string>

#include "graph/dtype.h"
#include "graph/tensor.h"

namespace stitch {

// "__half", "float", "long long" ...; a bool lies as one unsigned char, 0 or 1.
std::string memory_type(DType dtype);
// 16-bit floats are held as float (numerics.md 2), all else as in memory; bool as bool.
std::string register_type(DType dtype);
// One element of a tensor as an expression of its register type: "0.125f", "-3", "true".
std::string literal(const Tensor& tensor, int64_t index);
// A real constant of the register type of `dtype`.
std::string real_literal(DType dtype, double value);
std::string integer_literal(DType dtype, int64_t value);

}  // namespace stitch
