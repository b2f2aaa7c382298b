#include "emulator/blas/product.h"

#include <cblas.h>

#include <cmath>
#include <vector>

#include "emulator/blas/element_conversion.h"

namespace stitch::emulator {
namespace {

// A matrix as BLAS takes it: column major, with its transposition.
template <class Real>
struct Operand {
  const Real* data = nullptr;
  blasint leading_dimension = 0;
  CBLAS_TRANSPOSE transpose = CblasNoTrans;
  std::vector<Real> widened;  // holds the values when their type is another
};

blasint to_blas(std::uint64_t value) { return static_cast<blasint>(value); }

void multiply(const Operand<float>& a, const Operand<float>& b, std::uint64_t m, std::uint64_t n,
              std::uint64_t k, std::vector<float>& result) {
  cblas_sgemm(CblasColMajor, a.transpose, b.transpose, to_blas(m), to_blas(n), to_blas(k), 1.0f,
              a.data, a.leading_dimension, b.data, b.leading_dimension, 0.0f, result.data(),
              to_blas(m));
}

void multiply(const Operand<double>& a, const Operand<double>& b, std::uint64_t m, std::uint64_t n,
              std::uint64_t k, std::vector<double>& result) {
  cblas_dgemm(CblasColMajor, a.transpose, b.transpose, to_blas(m), to_blas(n), to_blas(k), 1.0,
              a.data, a.leading_dimension, b.data, b.leading_dimension, 0.0, result.data(),
              to_blas(m));
}

template <class Real>
constexpr lt::DataType kTypeOf = sizeof(Real) == 4 ? lt::kR32F : lt::kR64F;

std::size_t byte_offset(const MatrixLayout& m, std::uint64_t row, std::uint64_t column) {
  const auto ld = static_cast<std::uint64_t>(m.leading_dimension);
  const std::uint64_t element = m.order == lt::kColumnMajor ? column * ld + row : row * ld + column;
  return element * element_bytes(m.type);
}

// A row-major matrix is the transpose of the column-major one in the same memory.
template <class Real>
Operand<Real> operand_of(const MatrixLayout& m, const unsigned char* data, lt::Operation operation,
                         bool tf32) {
  Operand<Real> operand;
  const bool row_major = m.order == lt::kRowMajor;
  operand.transpose = (operation != lt::kNone) != row_major ? CblasTrans : CblasNoTrans;
  if (m.type == kTypeOf<Real> && !tf32) {
    operand.data = reinterpret_cast<const Real*>(data);
    operand.leading_dimension = static_cast<blasint>(m.leading_dimension);
    return operand;
  }
  const std::uint64_t inner = row_major ? m.columns : m.rows;
  const std::uint64_t outer = row_major ? m.rows : m.columns;
  const std::size_t bytes = element_bytes(m.type);
  operand.widened.resize(inner * outer);
  for (std::uint64_t o = 0; o < outer; ++o)
    for (std::uint64_t i = 0; i < inner; ++i) {
      const std::uint64_t place = o * static_cast<std::uint64_t>(m.leading_dimension) + i;
      const double value = load_element(m.type, data + place * bytes);
      operand.widened[o * inner + i] =
          tf32 ? static_cast<Real>(rounded_to_tf32(static_cast<float>(value)))
               : static_cast<Real>(value);
    }
  operand.data = operand.widened.data();
  operand.leading_dimension = to_blas(inner);
  return operand;
}

// Source of GELU in cuBLASLt: the tanh approximation (cuBLAS documentation, epilogues).
double activated(double x, std::uint32_t epilogue) {
  if ((epilogue & lt::kRelu) != 0) return x > 0.0 ? x : 0.0;
  if ((epilogue & lt::kGelu) != 0)
    return 0.5 * x * (1.0 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  return x;
}

template <class Real>
void compute_one(const Product& p, std::int64_t batch) {
  const auto at = [batch](const unsigned char* data, const MatrixLayout& m) {
    return data + batch * m.batch_stride * static_cast<std::int64_t>(element_bytes(m.type));
  };
  const bool tf32 = p.operation.compute == lt::kCompute32FFastTf32;
  const Operand<Real> a =
      operand_of<Real>(p.a_layout, at(p.a, p.a_layout), p.operation.trans_a, tf32);
  const Operand<Real> b =
      operand_of<Real>(p.b_layout, at(p.b, p.b_layout), p.operation.trans_b, tf32);
  const std::uint64_t m = p.d_layout.rows, n = p.d_layout.columns;
  const std::uint64_t k = p.operation.trans_a == lt::kNone ? p.a_layout.columns : p.a_layout.rows;
  std::vector<Real> sums(m * n);
  multiply(a, b, m, n, k, sums);

  const unsigned char* const c = at(p.c, p.c_layout);
  unsigned char* const d = p.d + (at(p.d, p.d_layout) - p.d);
  const auto bias_type = p.operation.bias_type < 0
                             ? p.d_layout.type
                             : static_cast<lt::DataType>(p.operation.bias_type);
  const std::size_t bias_bytes = element_bytes(bias_type);
  const auto* const bias =
      static_cast<const unsigned char*>(p.operation.bias) +
      batch * p.operation.bias_batch_stride * static_cast<std::int64_t>(bias_bytes);
  const bool has_bias = (p.operation.epilogue & lt::kBias) != 0;
  for (std::uint64_t column = 0; column < n; ++column)
    for (std::uint64_t row = 0; row < m; ++row) {
      double value = p.alpha * static_cast<double>(sums[column * m + row]);
      if (p.beta != 0.0)
        value += p.beta * load_element(p.c_layout.type, c + byte_offset(p.c_layout, row, column));
      if (has_bias) value += load_element(bias_type, bias + row * bias_bytes);
      store_element(p.d_layout.type, d + byte_offset(p.d_layout, row, column),
                    activated(value, p.operation.epilogue));
    }
}

}  // namespace

void compute_product(const Product& product) {
  const bool in_double = product.a_layout.type == lt::kR64F || product.d_layout.type == lt::kR32I;
  for (std::int64_t batch = 0; batch < product.d_layout.batch_count; ++batch) {
    if (in_double)
      compute_one<double>(product, batch);
    else
      compute_one<float>(product, batch);
  }
}

}  // namespace stitch::emulator
