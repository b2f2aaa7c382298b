#include "graph/working_type.h"

#include <bit>

namespace stitch {
namespace {

float f32_of_f16(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 0x1f;
  const uint32_t fraction = half & 0x3ff;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 0x1f ? 0xff : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

float f32_of_bf16(uint16_t half) { return std::bit_cast<float>(static_cast<uint32_t>(half) << 16); }

template <class To, class From, class F>
Tensor map_to(DType dtype, const Tensor& from, F f) {
  Tensor to(dtype, from.extents());
  const int64_t count = from.element_count();
  const From* in = data<From>(from);
  To* out = mutable_data<To>(to);
  for (int64_t i = 0; i < count; ++i) out[i] = f(in[i]);
  return to;
}

template <class To>
Tensor widen(DType dtype, const Tensor& from) {
  switch (from.dtype()) {
    case DType::kF16:
      return map_to<To, uint16_t>(dtype, from, [](uint16_t x) { return To{f32_of_f16(x)}; });
    case DType::kBF16:
      return map_to<To, uint16_t>(dtype, from, [](uint16_t x) { return To{f32_of_bf16(x)}; });
    case DType::kF32:
      return map_to<To, float>(dtype, from, [](float x) { return To{x}; });
    case DType::kBool:
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
    case DType::kF64:
      break;
  }
  throw InternalError("a tensor is not of a narrower float type");
}

template <class From>
Tensor narrow(const Tensor& from, DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return map_to<uint16_t, From>(dtype, from, [](From x) { return f16_bits(x); });
    case DType::kBF16:
      return map_to<uint16_t, From>(dtype, from, [](From x) { return bf16_bits(x); });
    case DType::kF32:
      return map_to<float, From>(dtype, from, [](From x) { return static_cast<float>(x); });
    case DType::kF64:
      return map_to<double, From>(dtype, from, [](From x) { return double{x}; });
    case DType::kBool:
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
      break;
  }
  throw InternalError("a tensor is to be stored in a type that is no float");
}

}  // namespace

DType working_dtype(DType dtype, EvaluationPrecision precision) {
  if (!is_float(dtype)) return dtype;
  return precision == EvaluationPrecision::kF64 ? DType::kF64 : compute_type(dtype);
}

Tensor to_working(const Tensor& stored, EvaluationPrecision precision) {
  const DType dtype = working_dtype(stored.dtype(), precision);
  if (dtype == stored.dtype()) return stored;
  return dtype == DType::kF64 ? widen<double>(dtype, stored) : widen<float>(dtype, stored);
}

Tensor to_stored(const Tensor& working, DType dtype) {
  if (working.dtype() == dtype) return working;
  return working.dtype() == DType::kF64 ? narrow<double>(working, dtype)
                                        : narrow<float>(working, dtype);
}

float f16_rounded(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffff;
  const uint32_t sign = bits & 0x80000000;
  if (magnitude > 0x7f800000) return value;                                     // NaN
  if (magnitude >= 0x477ff000) return std::bit_cast<float>(sign | 0x7f800000);  // from 65520 on
  if (magnitude < 0x38800000) {  // subnormal in f16: multiples of 2^-24, the step of f32 at 0.5
    const float rounded = (std::bit_cast<float>(magnitude) + 0.5f) - 0.5f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(rounded));
  }
  return std::bit_cast<float>((bits + 0xfff + ((bits >> 13) & 1)) & ~uint32_t{0x1fff});
}

float bf16_rounded(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return value;
  return std::bit_cast<float>((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000);
}

void round_to_half(Tensor& working, DType dtype) {
  if (working.dtype() != DType::kF32 || !is_half(dtype)) return;
  float* values = mutable_data<float>(working);
  const int64_t count = working.element_count();
  if (dtype == DType::kF16) {
    for (int64_t i = 0; i < count; ++i) values[i] = f16_rounded(values[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) values[i] = bf16_rounded(values[i]);
  }
}

}  // namespace stitch
