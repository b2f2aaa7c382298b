// Matrix elements as float or double, and back with one rounding to nearest even.
#pragma once
#include <cstddef>

#include "emulator/blas/cublaslt_abi.h"

namespace stitch::emulator {

// Bytes of one element; 0 for a type that the stand-in does not know.
std::size_t element_bytes(lt::DataType type);

double load_element(lt::DataType type, const unsigned char* address);
// Integers are truncated modulo their width.
void store_element(lt::DataType type, unsigned char* address, double value);

// The value with the 10 bits of mantissa that tf32 keeps, to nearest, ties away from zero.
// Source: PTX ISA, cvt.rna.tf32.f32.
float rounded_to_tf32(float value);

}  // namespace stitch::emulator
