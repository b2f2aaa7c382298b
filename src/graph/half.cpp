#include <bit>
#include <cmath>
#include <limits>

#include "graph/tensor.h"

namespace stitch {
namespace {

// Rounds a double to a float format of `mantissa_bits` stored bits and `exponent_bits`, straight
// from the 52 bits of the double: a detour over f32 would round twice.
uint16_t round_to_bits(double value, int mantissa_bits, int exponent_bits) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 63) << 15);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint64_t infinity = ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
  const auto double_exponent = static_cast<int>((bits >> 52) & 0x7ff);
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  if (double_exponent == 0x7ff) {
    const uint64_t quiet = fraction == 0 ? 0 : uint64_t{1} << (mantissa_bits - 1);
    return static_cast<uint16_t>(sign | infinity | quiet);
  }
  const int exponent = double_exponent - 1023 + bias;  // biased exponent in the target
  // The significand with its hidden bit; shifted further right for results below the normal range.
  const uint64_t significand = double_exponent == 0 ? fraction : fraction | (uint64_t{1} << 52);
  const int shift = 52 - mantissa_bits + (exponent < 1 ? 1 - exponent : 0);
  if (shift > 53) return sign;  // below half of the smallest subnormal
  uint64_t rounded = significand >> shift;
  const uint64_t rest = significand & ((uint64_t{1} << shift) - 1);
  const uint64_t half = uint64_t{1} << (shift - 1);
  if (rest > half || (rest == half && (rounded & 1) != 0)) ++rounded;
  // The hidden bit counts as one exponent step, so a carry out of the mantissa adds up by itself.
  if (exponent > 1) rounded += static_cast<uint64_t>(exponent - 1) << mantissa_bits;
  if (rounded > infinity) rounded = infinity;
  return static_cast<uint16_t>(sign | rounded);
}

}  // namespace

uint16_t f16_bits(double value) { return round_to_bits(value, 10, 5); }

uint16_t bf16_bits(double value) { return round_to_bits(value, 7, 8); }

double f16_value(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  double magnitude = 0;
  if (exponent == 0x1f) {
    magnitude = fraction == 0 ? std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(fraction, -24);
  } else {
    magnitude = std::ldexp(fraction + 0x400, exponent - 25);
  }
  return std::copysign(magnitude, (bits & 0x8000) != 0 ? -1.0 : 1.0);
}

double bf16_value(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

}  // namespace stitch
