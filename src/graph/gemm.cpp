#include "graph/gemm.h"

#include <cblas.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "graph/error.h"

namespace stitch {
namespace {

int blas_extent(int64_t extent) {
  if (extent > std::numeric_limits<int>::max()) {
    throw ModelError("a matrix extent of the host evaluation does not fit into 32 bits");
  }
  return static_cast<int>(extent);
}

template <class T, class F>
void call_blas(const GemmShape& shape, const T* a, const T* b, T* c, F function) {
  if (shape.m == 0 || shape.n == 0) return;
  if (shape.k == 0) {
    std::fill(c, c + shape.m * shape.n, T{0});
    return;
  }
  const int m = blas_extent(shape.m), n = blas_extent(shape.n), k = blas_extent(shape.k);
  function(CblasRowMajor, shape.transpose_a ? CblasTrans : CblasNoTrans, CblasNoTrans, m, n, k,
           T{1}, a, shape.transpose_a ? m : k, b, n, T{0}, c, n);
}

template <class T>
void multiply_integers(const GemmShape& shape, const T* a, const T* b, T* c) {
  using Bits = std::make_unsigned_t<T>;
  std::fill(c, c + shape.m * shape.n, T{0});
  for (int64_t i = 0; i < shape.m; ++i) {
    for (int64_t p = 0; p < shape.k; ++p) {
      const auto factor =
          static_cast<Bits>(shape.transpose_a ? a[p * shape.m + i] : a[i * shape.k + p]);
      const T* row = b + p * shape.n;
      T* sums = c + i * shape.n;
      for (int64_t j = 0; j < shape.n; ++j) {
        sums[j] = static_cast<T>(static_cast<Bits>(sums[j]) + factor * static_cast<Bits>(row[j]));
      }
    }
  }
}

}  // namespace

void gemm(const GemmShape& shape, const float* a, const float* b, float* c) {
  call_blas(shape, a, b, c, cblas_sgemm);
}
void gemm(const GemmShape& shape, const double* a, const double* b, double* c) {
  call_blas(shape, a, b, c, cblas_dgemm);
}
void gemm(const GemmShape& shape, const int32_t* a, const int32_t* b, int32_t* c) {
  multiply_integers(shape, a, b, c);
}
void gemm(const GemmShape& shape, const int64_t* a, const int64_t* b, int64_t* c) {
  multiply_integers(shape, a, b, c);
}
void gemm(const GemmShape& shape, const uint32_t* a, const uint32_t* b, uint32_t* c) {
  multiply_integers(shape, a, b, c);
}
void gemm(const GemmShape& shape, const uint64_t* a, const uint64_t* b, uint64_t* c) {
  multiply_integers(shape, a, b, c);
}

}  // namespace stitch
