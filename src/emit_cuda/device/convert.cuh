// Casts between element types as the graph defines them, and bit patterns.
#pragma once
#include "base.cuh"

// Float to integer: truncated; NaN, infinity and what is out of range give the lowest value.
// Cost: four instructions (the conversion instruction saturates). Source: ONNX Runtime on x86-64.
STITCH_DEVICE int stitch_to_int(float x) {
  return x >= -2147483648.0f && x < 2147483648.0f ? static_cast<int>(x) : -2147483647 - 1;
}
STITCH_DEVICE int stitch_to_int(double x) {
  return x > -2147483649.0 && x < 2147483648.0 ? static_cast<int>(x) : -2147483647 - 1;
}
STITCH_DEVICE long long stitch_to_long(float x) {
  return x >= -9223372036854775808.0f && x < 9223372036854775808.0f
             ? static_cast<long long>(x)
             : -9223372036854775807ll - 1;
}
STITCH_DEVICE long long stitch_to_long(double x) {
  return x >= -9223372036854775808.0 && x < 9223372036854775808.0
             ? static_cast<long long>(x)
             : -9223372036854775807ll - 1;
}
// Unsigned targets saturate, NaN gives 0, and negative values wrap from int64.
template <class T>
STITCH_DEVICE unsigned stitch_to_unsigned(T x) {
  if (!(x == x)) return 0u;
  if (x < T(0)) return static_cast<unsigned>(stitch_to_long(x));
  return x < T(4294967296.0) ? static_cast<unsigned>(x) : 0xffffffffu;
}
template <class T>
STITCH_DEVICE unsigned long long stitch_to_unsigned_long(T x) {
  if (!(x == x)) return 0ull;
  if (x < T(0)) return static_cast<unsigned long long>(stitch_to_long(x));
  return x < T(18446744073709551616.0) ? static_cast<unsigned long long>(x)
                                       : 0xffffffffffffffffull;
}

// Rounds to a 16-bit float once and widens again, as a model's cast asks for.
// Cost: two conversions. Source: cuda_fp16.h, cuda_bf16.h.
template <class T>
STITCH_DEVICE float stitch_rounded(float x);
template <>
STITCH_DEVICE float stitch_rounded<__half>(float x) {
  return __half2float(__float2half_rn(x));
}
template <>
STITCH_DEVICE float stitch_rounded<__nv_bfloat16>(float x) {
  return __bfloat162float(__float2bfloat16_rn(x));
}
template <class T>
STITCH_DEVICE float stitch_rounded_once(double x);
template <>
STITCH_DEVICE float stitch_rounded_once<__half>(double x) {
  return __half2float(__double2half(x));
}
template <>
STITCH_DEVICE float stitch_rounded_once<__nv_bfloat16>(double x) {
  return __bfloat162float(__double2bfloat16(x));
}

// The same bits as another type of equal width. Cost: none. Source: own.
template <class To, class From>
STITCH_DEVICE To stitch_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "equal width");
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}
