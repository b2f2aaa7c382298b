#include <initializer_list>

#include "emulator/blas/descriptors.h"
#include "emulator/blas/element_conversion.h"

namespace stitch::emulator {
namespace {

struct Shape {
  std::uint64_t rows, columns;
};

Shape after(lt::Operation operation, const MatrixLayout& m) {
  if (operation == lt::kNone) return {m.rows, m.columns};
  return {m.columns, m.rows};
}

bool valid_layout(const MatrixLayout& m) {
  if (element_bytes(m.type) == 0 || m.rows == 0 || m.columns == 0 || m.batch_count < 1)
    return false;
  if (m.order != lt::kColumnMajor && m.order != lt::kRowMajor) return false;
  const std::uint64_t inner = m.order == lt::kColumnMajor ? m.rows : m.columns;
  return m.leading_dimension >= static_cast<std::int64_t>(inner);
}

// Source: cuBLAS documentation 13.0, cublasLtMatmul, table of supported type combinations.
bool supported_types(const MatmulDescriptor& op, lt::DataType a, lt::DataType b, lt::DataType c,
                     lt::DataType d) {
  if (a != b || c != d) return false;
  switch (op.compute) {
    case lt::kCompute16F:
    case lt::kCompute16FPedantic:
      return op.scale == lt::kR16F && a == lt::kR16F && c == lt::kR16F;
    case lt::kCompute32F:
    case lt::kCompute32FPedantic:
      if (op.scale != lt::kR32F) return false;
      if (a == lt::kR16F || a == lt::kR16BF) return c == a || c == lt::kR32F;
      return (a == lt::kR32F || a == lt::kR8I) && c == lt::kR32F;
    case lt::kCompute32FFast16F:
    case lt::kCompute32FFast16BF:
    case lt::kCompute32FFastTf32:
      return op.scale == lt::kR32F && a == lt::kR32F && c == lt::kR32F;
    case lt::kCompute64F:
    case lt::kCompute64FPedantic:
      return op.scale == lt::kR64F && a == lt::kR64F && c == lt::kR64F;
    case lt::kCompute32I:
    case lt::kCompute32IPedantic:
      return op.scale == lt::kR32I && a == lt::kR8I && c == lt::kR32I;
  }
  return false;
}

// Integer products in the regular order. Source: cuBLAS documentation 13.0, cublasLtMatmul, "to use
// IMMA kernels": A transposed, B not, leading dimensions, m and k multiples of 4.
bool integer_layout(const MatmulDescriptor& op, const MatrixLayout& a, const MatrixLayout& b,
                    const MatrixLayout& c) {
  constexpr std::int64_t kMultiple = 4;
  const auto ragged = [](auto value) { return static_cast<std::int64_t>(value) % kMultiple != 0; };
  if (op.trans_a == lt::kNone || op.trans_b != lt::kNone) return false;
  for (const MatrixLayout* m : {&a, &b, &c})
    if (m->order != lt::kColumnMajor || ragged(m->leading_dimension)) return false;
  return !ragged(a.rows) && !ragged(a.columns);
}

}  // namespace

lt::Status check_product(const MatmulDescriptor& operation, const MatrixLayout& a,
                         const MatrixLayout& b, const MatrixLayout& c, const MatrixLayout& d) {
  for (const MatrixLayout* m : {&a, &b, &c, &d})
    if (!valid_layout(*m)) return lt::kInvalidValue;
  const Shape left = after(operation.trans_a, a), right = after(operation.trans_b, b);
  if (left.columns != right.rows || left.rows != d.rows || right.columns != d.columns ||
      c.rows != d.rows || c.columns != d.columns)
    return lt::kInvalidValue;
  for (const MatrixLayout* m : {&a, &b, &c})
    if (m->batch_count != d.batch_count) return lt::kInvalidValue;
  if (operation.trans_c != lt::kNone || operation.pointer_mode != lt::kHostPointers)
    return lt::kNotSupported;
  constexpr std::uint32_t kKnown = lt::kDefault | lt::kRelu | lt::kBias | lt::kGelu;
  if ((operation.epilogue & ~kKnown) != 0) return lt::kNotSupported;
  if (!supported_types(operation, a.type, b.type, c.type, d.type)) return lt::kNotSupported;
  if (a.type == lt::kR8I && !integer_layout(operation, a, b, c)) return lt::kNotSupported;
  return lt::kSuccess;
}

}  // namespace stitch::emulator
