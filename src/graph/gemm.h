// Matrix products on row-major host memory: OpenBLAS for floats, plain loops for integers.
#pragma once
#include <cstdint>

namespace stitch {

// c[m,n] = a[m,k] b[k,n]; with transpose_a, `a` is stored as [k,m].
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false;
};

void gemm(const GemmShape& shape, const float* a, const float* b, float* c);
void gemm(const GemmShape& shape, const double* a, const double* b, double* c);
// Wraps.
void gemm(const GemmShape& shape, const int32_t* a, const int32_t* b, int32_t* c);
void gemm(const GemmShape& shape, const int64_t* a, const int64_t* b, int64_t* c);
void gemm(const GemmShape& shape, const uint32_t* a, const uint32_t* b, uint32_t* c);
void gemm(const GemmShape& shape, const uint64_t* a, const uint64_t* b, uint64_t* c);

}  // namespace stitch
