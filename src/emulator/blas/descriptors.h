// What a program describes to cuBLASLt before it multiplies: the operation and the matrices.
#pragma once
#include <cstdint>

#include "emulator/blas/cublaslt_abi.h"

namespace stitch::emulator {

struct MatmulDescriptor {
  lt::ComputeType compute = lt::kCompute32F;
  lt::DataType scale = lt::kR32F;
  int pointer_mode = lt::kHostPointers;
  lt::Operation trans_a = lt::kNone;
  lt::Operation trans_b = lt::kNone;
  lt::Operation trans_c = lt::kNone;
  std::uint32_t epilogue = lt::kDefault;
  const void* bias = nullptr;
  std::int64_t bias_batch_stride = 0;
  std::int32_t bias_type = -1;  // -1 = the type of D
};

// Batch stride and leading dimension in elements.
struct MatrixLayout {
  lt::DataType type = lt::kR32F;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::int64_t leading_dimension = 0;
  std::int32_t order = lt::kColumnMajor;
  std::int32_t batch_count = 1;
  std::int64_t batch_stride = 0;
};

// A product with all its operands. D = epilogue(alpha * op(A) op(B) + beta * C).
struct Product {
  MatmulDescriptor operation;
  MatrixLayout a_layout, b_layout, c_layout, d_layout;
  double alpha = 1.0;
  double beta = 0.0;
  const unsigned char* a = nullptr;
  const unsigned char* b = nullptr;
  const unsigned char* c = nullptr;
  unsigned char* d = nullptr;
};

// kSuccess when cuBLASLt has an algorithm for the shapes and types, whatever the pointers.
lt::Status check_product(const MatmulDescriptor& operation, const MatrixLayout& a,
                         const MatrixLayout& b, const MatrixLayout& c, const MatrixLayout& d);

}  // namespace stitch::emulator
