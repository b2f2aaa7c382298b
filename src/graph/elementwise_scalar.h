// What each element-wise primitive does to one element: the meaning that kernels must reproduce.
//
// T is the compute type: bool, an integer, float (also for f16 and bf16 values) or double.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace stitch::scalar {

template <class T>
concept Float = std::is_floating_point_v<T>;
template <class T>
concept Integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;

// Integer arithmetic is done on 64 unsigned bits and cut: it wraps at any width.
template <Integer T>
constexpr uint64_t bits(T x) {
  return static_cast<uint64_t>(x);
}

template <Float T>
T neg(T x) {
  return -x;
}
template <Integer T>
T neg(T x) {
  return static_cast<T>(0 - bits(x));
}
template <Float T>
T abs(T x) {
  return std::fabs(x);
}
template <Integer T>
T abs(T x) {
  return x < T{0} ? neg(x) : x;
}
// NaN stays NaN; both zeros give +0.
template <class T>
T sign(T x) {
  if (x != x) return x;
  return static_cast<T>((x > T{0} ? 1 : 0) - (x < T{0} ? 1 : 0));
}
template <Float T>
T floor(T x) {
  return std::floor(x);
}
template <Float T>
T ceil(T x) {
  return std::ceil(x);
}
// Half to even; -0.4 gives -0.
template <Float T>
T round(T x) {
  return std::nearbyint(x);
}

template <Float T>
T add(T a, T b) {
  return a + b;
}
template <Integer T>
T add(T a, T b) {
  return static_cast<T>(bits(a) + bits(b));
}
template <Float T>
T sub(T a, T b) {
  return a - b;
}
template <Integer T>
T sub(T a, T b) {
  return static_cast<T>(bits(a) - bits(b));
}
template <Float T>
T mul(T a, T b) {
  return a * b;
}
template <Integer T>
T mul(T a, T b) {
  return static_cast<T>(bits(a) * bits(b));
}
// NaN if either is NaN. On bool: and, or.
template <class T>
T min(T a, T b) {
  if constexpr (Float<T>) return a < b || a != a ? a : b;
  return a < b ? a : b;
}
template <class T>
T max(T a, T b) {
  if constexpr (Float<T>) return a > b || a != a ? a : b;
  return a > b ? a : b;
}

template <Float T>
T div(T a, T b) {
  return a / b;
}
// Truncates; x/0 is 0 and the smallest integer over -1 is itself.
template <Integer T>
T div(T a, T b) {
  if (b == T{0}) return T{0};
  if constexpr (std::is_signed_v<T>) {
    if (b == T{-1}) return neg(a);
  }
  return static_cast<T>(a / b);
}
template <Float T>
T rem(T a, T b) {
  return std::fmod(a, b);
}
// Sign of the dividend; x rem 0 is 0.
template <Integer T>
T rem(T a, T b) {
  if (b == T{0}) return T{0};
  if constexpr (std::is_signed_v<T>) {
    if (b == T{-1}) return T{0};
  }
  return static_cast<T>(a % b);
}
template <Float T>
T pow(T a, T b) {
  return std::pow(a, b);
}
// Exact with wrap for exponents of at least 0; below, what truncation of the quotient gives, and 0
// for 0.
template <Integer T>
T pow(T a, T b) {
  if (b < T{0}) {
    if (a == T{1}) return a;
    if (a == static_cast<T>(-1)) return (b & 1) != 0 ? a : T{1};
    return T{0};
  }
  uint64_t result = 1;
  uint64_t base = bits(a);
  for (uint64_t exponent = bits(b); exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= base;
    base *= base;
  }
  return static_cast<T>(result);
}

template <class T>
T bitwise_and(T a, T b) {
  return static_cast<T>(a & b);
}
template <class T>
T bitwise_or(T a, T b) {
  return static_cast<T>(a | b);
}
template <class T>
T bitwise_xor(T a, T b) {
  return static_cast<T>(a ^ b);
}
inline bool bitwise_not(bool x) { return !x; }
template <Integer T>
T bitwise_not(T x) {
  return static_cast<T>(~bits(x));
}
// Amounts outside [0, width): 0, or -1 for a right shift of a negative value.
template <Integer T>
T shift_left(T a, T n) {
  const bool inside = n >= T{0} && bits(n) < sizeof(T) * 8;
  return inside ? static_cast<T>(bits(a) << bits(n)) : T{0};
}
template <Integer T>
T shift_right(T a, T n) {
  const bool inside = n >= T{0} && bits(n) < sizeof(T) * 8;
  if (inside) return static_cast<T>(a >> n);
  return a < T{0} ? static_cast<T>(-1) : T{0};
}

// Toward zero; NaN, infinities and what does not fit give the smallest value.
template <class To, Float From>
To to_wide_signed(From x) {
  constexpr To kSmallest = std::numeric_limits<To>::min();
  const From limit = -static_cast<From>(kSmallest);  // 2^31 or 2^63
  const From truncated = std::trunc(x);
  return truncated >= -limit && truncated < limit ? static_cast<To>(truncated) : kSmallest;
}

// operators.md 7.3: narrow integers through int32, unsigned ones saturate above and wrap below 0.
template <class To, class From>
To cast(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From{0};
  } else if constexpr (Float<From> && Integer<To>) {
    if constexpr (sizeof(To) < 4) {
      return static_cast<To>(to_wide_signed<int32_t>(x));
    } else if constexpr (std::is_signed_v<To>) {
      return to_wide_signed<To>(x);
    } else {
      if (x != x) return To{0};
      if (x < From{0}) return static_cast<To>(to_wide_signed<int64_t>(x));
      const auto limit = std::ldexp(From{1}, static_cast<int>(sizeof(To) * 8));
      return x >= limit ? std::numeric_limits<To>::max() : static_cast<To>(x);
    }
  } else {
    return static_cast<To>(x);  // integers keep their low bits, floats round to nearest even
  }
}

}  // namespace stitch::scalar
