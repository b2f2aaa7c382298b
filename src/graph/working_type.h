// How the evaluator holds values: floats as f32 or f64 arrays, everything else as stored.
//
// In native precision f16 and bf16 values live in f32 arrays and are rounded to their own grid
// after every op; in f64 precision every float is f64 and nothing is rounded.
#pragma once
#include <cstdint>

#include "graph/dtype.h"
#include "graph/error.h"
#include "graph/evaluate.h"
#include "graph/tensor.h"

namespace stitch {

DType working_dtype(DType dtype, EvaluationPrecision precision);
// Shares the bytes where nothing has to be converted.
Tensor to_working(const Tensor& stored, EvaluationPrecision precision);
// Back to `dtype`, rounding once.
Tensor to_stored(const Tensor& working, DType dtype);
// Rounds f32 elements to the values that f16 or bf16 can hold.
void round_to_half(Tensor& working, DType dtype);
float f16_rounded(float value);
float bf16_rounded(float value);

template <class T>
struct TypeTag {
  using Type = T;
};

// Calls f(TypeTag<T>{}) for the C++ type of a working dtype.
template <class F>
decltype(auto) visit_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kBool:
      return f(TypeTag<bool>{});
    case DType::kI8:
      return f(TypeTag<int8_t>{});
    case DType::kI16:
      return f(TypeTag<int16_t>{});
    case DType::kI32:
      return f(TypeTag<int32_t>{});
    case DType::kI64:
      return f(TypeTag<int64_t>{});
    case DType::kU8:
      return f(TypeTag<uint8_t>{});
    case DType::kU16:
      return f(TypeTag<uint16_t>{});
    case DType::kU32:
      return f(TypeTag<uint32_t>{});
    case DType::kU64:
      return f(TypeTag<uint64_t>{});
    case DType::kF32:
      return f(TypeTag<float>{});
    case DType::kF64:
      return f(TypeTag<double>{});
    case DType::kF16:
    case DType::kBF16:
      break;
  }
  throw InternalError("a 16-bit float reached the evaluator unconverted");
}

// Calls f(TypeTag<T>{}) for an unsigned type of the element size: movement only copies bits.
template <class F>
decltype(auto) visit_bits(DType dtype, F&& f) {
  switch (size_bytes(dtype)) {
    case 1:
      return f(TypeTag<uint8_t>{});
    case 2:
      return f(TypeTag<uint16_t>{});
    case 4:
      return f(TypeTag<uint32_t>{});
    default:
      return f(TypeTag<uint64_t>{});
  }
}

template <class T>
const T* data(const Tensor& tensor) {
  return reinterpret_cast<const T*>(tensor.bytes().data());
}
template <class T>
T* mutable_data(Tensor& tensor) {
  return reinterpret_cast<T*>(tensor.mutable_bytes().data());
}

}  // namespace stitch
