// Built-in functions of CUDA that emitted kernels may call, with the host's arithmetic.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "simt_calls.h"

#define STITCH_SIMT_INLINE inline __attribute__((always_inline))

// Two's complement and bit patterns. Source: CUDA math API, integer intrinsics and type casts.
STITCH_SIMT_INLINE unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(a) * b) >> 32);
}
STITCH_SIMT_INLINE int __mulhi(int a, int b) {
  return static_cast<int>((static_cast<std::int64_t>(a) * b) >> 32);
}
STITCH_SIMT_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
template <class To, class From>
STITCH_SIMT_INLINE To stitch_simt_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}
STITCH_SIMT_INLINE float __int_as_float(int x) { return stitch_simt_bits<float>(x); }
STITCH_SIMT_INLINE float __uint_as_float(unsigned x) { return stitch_simt_bits<float>(x); }
STITCH_SIMT_INLINE int __float_as_int(float x) { return stitch_simt_bits<int>(x); }
STITCH_SIMT_INLINE unsigned __float_as_uint(float x) { return stitch_simt_bits<unsigned>(x); }
STITCH_SIMT_INLINE double __longlong_as_double(long long x) { return stitch_simt_bits<double>(x); }
STITCH_SIMT_INLINE long long __double_as_longlong(double x) {
  return stitch_simt_bits<long long>(x);
}
STITCH_SIMT_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
STITCH_SIMT_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
STITCH_SIMT_INLINE int __clz(int x) {
  return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}
STITCH_SIMT_INLINE int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
STITCH_SIMT_INLINE int __ffs(int x) { return __builtin_ffs(x); }
STITCH_SIMT_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
STITCH_SIMT_INLINE unsigned __brev(unsigned x) {
  unsigned result = 0;
  for (int i = 0; i < 32; ++i) result |= (x >> i & 1u) << (31 - i);
  return result;
}
STITCH_SIMT_INLINE int __dp4a(int a, int b, int sum) {
  for (int i = 0; i < 32; i += 8)
    sum += static_cast<signed char>(a >> i) * static_cast<signed char>(b >> i);
  return sum;
}
STITCH_SIMT_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
  for (int i = 0; i < 32; i += 8) sum += (a >> i & 0xffu) * (b >> i & 0xffu);
  return sum;
}
template <class T>
STITCH_SIMT_INLINE T __ldg(const T* p) {
  return *p;
}

// Rounding is to nearest even throughout; the host image is built without contraction.
STITCH_SIMT_INLINE float __fmul_rn(float a, float b) { return a * b; }
STITCH_SIMT_INLINE float __fadd_rn(float a, float b) { return a + b; }
STITCH_SIMT_INLINE float __fsub_rn(float a, float b) { return a - b; }
STITCH_SIMT_INLINE float __fdiv_rn(float a, float b) { return a / b; }
STITCH_SIMT_INLINE float __fsqrt_rn(float x) { return sqrtf(x); }
STITCH_SIMT_INLINE float __frcp_rn(float x) { return 1.0f / x; }
STITCH_SIMT_INLINE float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
STITCH_SIMT_INLINE double __dmul_rn(double a, double b) { return a * b; }
STITCH_SIMT_INLINE double __dadd_rn(double a, double b) { return a + b; }
STITCH_SIMT_INLINE double __dsub_rn(double a, double b) { return a - b; }
STITCH_SIMT_INLINE double __ddiv_rn(double a, double b) { return a / b; }
STITCH_SIMT_INLINE double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
STITCH_SIMT_INLINE float rsqrtf(float x) { return 1.0f / sqrtf(x); }
STITCH_SIMT_INLINE double rsqrt(double x) { return 1.0 / sqrt(x); }
STITCH_SIMT_INLINE float __frsqrt_rn(float x) {
  return static_cast<float>(1.0 / sqrt(static_cast<double>(x)));
}
STITCH_SIMT_INLINE float __expf(float x) { return expf(x); }
STITCH_SIMT_INLINE float __logf(float x) { return logf(x); }
STITCH_SIMT_INLINE float __log2f(float x) { return log2f(x); }
STITCH_SIMT_INLINE float __powf(float x, float y) { return powf(x, y); }
STITCH_SIMT_INLINE float __sinf(float x) { return sinf(x); }
STITCH_SIMT_INLINE float __cosf(float x) { return cosf(x); }
STITCH_SIMT_INLINE float __fdividef(float a, float b) { return a / b; }
STITCH_SIMT_INLINE float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
STITCH_SIMT_INLINE float normcdff(float x) { return 0.5f * erfcf(x * -0.70710678118654752f); }

// Conversions to integer saturate; NaN gives 0 (int32) or the sign bit alone (int64).
// Source: CUDA math API, type casting intrinsics; PTX ISA, cvt.
template <class To, class From>
STITCH_SIMT_INLINE To stitch_simt_saturate(From x, To of_nan) {
  constexpr To kLowest = std::numeric_limits<To>::min();
  constexpr To kHighest = std::numeric_limits<To>::max();
  if (x != x) return of_nan;
  if (x >= static_cast<From>(kHighest)) return kHighest;
  if (x <= static_cast<From>(kLowest)) return kLowest;
  return static_cast<To>(x);
}
STITCH_SIMT_INLINE int __float2int_rn(float x) {
  return stitch_simt_saturate<int>(std::nearbyint(x), 0);
}
STITCH_SIMT_INLINE int __float2int_rz(float x) { return stitch_simt_saturate<int>(x, 0); }
STITCH_SIMT_INLINE int __float2int_rd(float x) {
  return stitch_simt_saturate<int>(std::floor(x), 0);
}
STITCH_SIMT_INLINE int __float2int_ru(float x) {
  return stitch_simt_saturate<int>(std::ceil(x), 0);
}
STITCH_SIMT_INLINE unsigned __float2uint_rz(float x) {
  return stitch_simt_saturate<unsigned>(x, 0u);
}
STITCH_SIMT_INLINE unsigned __float2uint_rn(float x) {
  return stitch_simt_saturate<unsigned>(std::nearbyint(x), 0u);
}
STITCH_SIMT_INLINE long long __float2ll_rz(float x) {
  return stitch_simt_saturate<long long>(x, std::numeric_limits<long long>::min());
}
STITCH_SIMT_INLINE int __double2int_rn(double x) {
  return stitch_simt_saturate<int>(std::nearbyint(x), 0);
}
STITCH_SIMT_INLINE int __double2int_rz(double x) { return stitch_simt_saturate<int>(x, 0); }
STITCH_SIMT_INLINE long long __double2ll_rz(double x) {
  return stitch_simt_saturate<long long>(x, std::numeric_limits<long long>::min());
}
STITCH_SIMT_INLINE long long __double2ll_rn(double x) {
  return stitch_simt_saturate<long long>(std::nearbyint(x), std::numeric_limits<long long>::min());
}
STITCH_SIMT_INLINE float __int2float_rn(int x) { return static_cast<float>(x); }
STITCH_SIMT_INLINE float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
STITCH_SIMT_INLINE float __ll2float_rn(long long x) { return static_cast<float>(x); }
STITCH_SIMT_INLINE float __double2float_rn(double x) { return static_cast<float>(x); }

// min and max of CUDA accept mixed types; those of floating point drop NaN.
template <class A, class B>
STITCH_SIMT_INLINE constexpr typename std::common_type<A, B>::type max(A a, B b) {
  using T = typename std::common_type<A, B>::type;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  if constexpr (std::is_floating_point<T>::value)
    return x != x ? y : y != y ? x : x > y ? x : y;
  else
    return x > y ? x : y;
}
template <class A, class B>
STITCH_SIMT_INLINE constexpr typename std::common_type<A, B>::type min(A a, B b) {
  using T = typename std::common_type<A, B>::type;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  if constexpr (std::is_floating_point<T>::value)
    return x != x ? y : y != y ? x : x < y ? x : y;
  else
    return x < y ? x : y;
}
using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;

// Atomics on global and shared memory. Source: CUDA C++ programming guide, atomic functions.
template <class T>
STITCH_SIMT_INLINE T atomicAdd(T* p, T x) {
  return stitch_simt::atomic_update(p, [x](T old) { return static_cast<T>(old + x); });
}
template <class T>
STITCH_SIMT_INLINE T atomicMax(T* p, T x) {
  return stitch_simt::atomic_update(p, [x](T old) { return old > x ? old : x; });
}
template <class T>
STITCH_SIMT_INLINE T atomicMin(T* p, T x) {
  return stitch_simt::atomic_update(p, [x](T old) { return old < x ? old : x; });
}
template <class T>
STITCH_SIMT_INLINE T atomicExch(T* p, T x) {
  return stitch_simt::atomic_update(p, [x](T) { return x; });
}
template <class T>
STITCH_SIMT_INLINE T atomicCAS(T* p, T expected, T x) {
  return stitch_simt::atomic_update(p, [expected, x](T old) { return old == expected ? x : old; });
}
template <class T>
STITCH_SIMT_INLINE T atomicAnd(T* p, T x) {
  return stitch_simt::atomic_update(p, [x](T old) { return static_cast<T>(old & x); });
}
template <class T>
STITCH_SIMT_INLINE T atomicOr(T* p, T x) {
  return stitch_simt::atomic_update(p, [x](T old) { return static_cast<T>(old | x); });
}
