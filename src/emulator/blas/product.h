// Computes a product with the host's BLAS.
#pragma once
#include "emulator/blas/descriptors.h"

namespace stitch::emulator {

// Sums are float (double for 64-bit and integer products, which are exact) in an order of the
// host's BLAS; 16-bit operands are widened and the result is rounded once. Half-precision
// computation is done in float. All operands must be readable and D writable.
void compute_product(const Product& product);

}  // namespace stitch::emulator
