// Integer arithmetic as the graph defines it: modulo the width, and without traps.
#pragma once
#include "base.cuh"

// Sum, difference, product and negation modulo the width of T. Cost: one instruction (64 bits: two
// to four). Source: two's complement; unsigned arithmetic never overflows in C++.
template <class T>
STITCH_DEVICE T stitch_wrap_add(T a, T b) {
  return static_cast<T>(static_cast<unsigned long long>(a) + static_cast<unsigned long long>(b));
}
template <class T>
STITCH_DEVICE T stitch_wrap_subtract(T a, T b) {
  return static_cast<T>(static_cast<unsigned long long>(a) - static_cast<unsigned long long>(b));
}
template <class T>
STITCH_DEVICE T stitch_wrap_multiply(T a, T b) {
  return static_cast<T>(static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b));
}
template <class T>
STITCH_DEVICE T stitch_wrap_negate(T a) {
  return static_cast<T>(0ull - static_cast<unsigned long long>(a));
}
template <class T>
STITCH_DEVICE T stitch_wrap_abs(T a) {
  return a < T(0) ? stitch_wrap_negate(a) : a;
}

// Quotient truncated toward zero; x / 0 is 0 and the lowest value / -1 is itself.
// Cost: about 20 instructions for 32 bits; a constant divisor folds the tests. Source: own.
template <class T>
STITCH_DEVICE T stitch_truncated_quotient(T a, T b) {
  if (b == T(0)) return T(0);
  if (static_cast<T>(b + T(1)) == T(0) && T(-1) < T(0)) return stitch_wrap_negate(a);
  return static_cast<T>(a / b);
}
// What the quotient leaves, with the sign of a; x rem 0 is 0.
template <class T>
STITCH_DEVICE T stitch_truncated_remainder(T a, T b) {
  if (b == T(0) || (static_cast<T>(b + T(1)) == T(0) && T(-1) < T(0))) return T(0);
  return static_cast<T>(a % b);
}

// a to the power of b modulo the width; a negative power is 1 / a^-b truncated.
// Cost: one product or two per bit of b. Source: binary powers.
template <class T>
STITCH_DEVICE T stitch_integer_power(T a, T b) {
  if (b < T(0)) {
    if (a == T(1)) return T(1);
    return static_cast<T>(a + T(1)) == T(0) ? (b % 2 == 0 ? T(1) : a) : T(0);
  }
  T result = T(1);
  for (; b != T(0); b = static_cast<T>(b / 2)) {
    if (b % 2 != 0) result = stitch_wrap_multiply(result, a);
    a = stitch_wrap_multiply(a, a);
  }
  return result;
}

// Shifts; a count outside of [0, width) gives 0, or -1 for a right shift of a negative value.
// Cost: three instructions. Source: ONNX BitShift.
template <class T>
STITCH_DEVICE T stitch_shift_left(T a, T count) {
  constexpr int kWidth = static_cast<int>(sizeof(T)) * 8;
  if (count < T(0) || count >= T(kWidth)) return T(0);
  return static_cast<T>(static_cast<unsigned long long>(a) << count);
}
template <class T>
STITCH_DEVICE T stitch_shift_right(T a, T count) {
  constexpr int kWidth = static_cast<int>(sizeof(T)) * 8;
  if (count < T(0) || count >= T(kWidth)) return a < T(0) ? static_cast<T>(-1) : T(0);
  return static_cast<T>(a >> count);
}

// An index that a tensor holds: negative ones count from the end, then it is clamped to
// [low, high]. Cost: four instructions. Source: ONNX Gather-13; out of range is never a fault.
template <class T>
STITCH_DEVICE int stitch_gathered(T index, int low, int high) {
  const long long wrapped = index < T(0) ? static_cast<long long>(index) + high + 1
                                         : static_cast<long long>(index);
  return static_cast<int>(wrapped < low ? low : wrapped > high ? high : wrapped);
}
