#include "emulator/blas/element_conversion.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace stitch::emulator {
namespace {

template <class T>
T read(const unsigned char* address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

template <class T>
void write(unsigned char* address, T value) {
  std::memcpy(address, &value, sizeof value);
}

float float_of_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

std::uint32_t bits_of_float(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// IEEE 754 binary16: 5 bits of exponent with bias 15, 10 bits of mantissa.
float float_of_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t exponent = half >> 10 & 0x1fu;
  const std::uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0x1f) return float_of_bits(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0) return float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;  // subnormal: exact
  return sign != 0 ? -magnitude : magnitude;
}

std::uint16_t half_of_double(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000u : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= 65520.0) return static_cast<std::uint16_t>(sign | 0x7c00u);
  int exponent = 0;
  std::frexp(magnitude, &exponent);               // magnitude in [0.5, 1) * 2^exponent
  const int unit = std::max(exponent - 11, -24);  // of the last place
  const double places = std::nearbyint(std::ldexp(magnitude, -unit));
  const double rounded = std::ldexp(places, unit);
  if (rounded < 0x1p-14)  // subnormal: the exponent field is 0
    return static_cast<std::uint16_t>(sign | static_cast<unsigned>(std::ldexp(rounded, 24)));
  std::frexp(rounded, &exponent);
  const auto mantissa = static_cast<unsigned>(std::ldexp(rounded, 11 - exponent)) & 0x3ffu;
  return static_cast<std::uint16_t>(sign | static_cast<unsigned>(exponent + 14) << 10 | mantissa);
}

std::uint16_t bfloat_of_double(double value) {
  // Rounding through float would round twice: round to odd in between (Boldo, Melquiond 2008).
  float nearest = static_cast<float>(value);
  if (std::isnan(nearest)) return 0x7fc0u;
  if (static_cast<double>(nearest) != value && std::isfinite(nearest)) {
    if (std::fabs(static_cast<double>(nearest)) > std::fabs(value))
      nearest = std::nextafterf(nearest, 0.0f);
    nearest = float_of_bits(bits_of_float(nearest) | 1u);
  }
  const std::uint32_t bits = bits_of_float(nearest);
  if (std::isinf(nearest)) return static_cast<std::uint16_t>(bits >> 16);
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace

std::size_t element_bytes(lt::DataType type) {
  switch (type) {
    case lt::kR8I:
      return 1;
    case lt::kR16F:
    case lt::kR16BF:
      return 2;
    case lt::kR32F:
    case lt::kR32I:
      return 4;
    case lt::kR64F:
      return 8;
  }
  return 0;
}

double load_element(lt::DataType type, const unsigned char* address) {
  switch (type) {
    case lt::kR32F:
      return read<float>(address);
    case lt::kR64F:
      return read<double>(address);
    case lt::kR16F:
      return float_of_half(read<std::uint16_t>(address));
    case lt::kR16BF:
      return float_of_bits(static_cast<std::uint32_t>(read<std::uint16_t>(address)) << 16);
    case lt::kR8I:
      return read<std::int8_t>(address);
    case lt::kR32I:
      return read<std::int32_t>(address);
  }
  return 0.0;
}

void store_element(lt::DataType type, unsigned char* address, double value) {
  switch (type) {
    case lt::kR32F:
      return write(address, static_cast<float>(value));
    case lt::kR64F:
      return write(address, value);
    case lt::kR16F:
      return write(address, half_of_double(value));
    case lt::kR16BF:
      return write(address, bfloat_of_double(value));
    case lt::kR8I:
      return write(address, static_cast<std::int8_t>(static_cast<std::int64_t>(value)));
    case lt::kR32I:
      return write(address, static_cast<std::int32_t>(static_cast<std::int64_t>(value)));
  }
}

float rounded_to_tf32(float value) {
  std::uint32_t bits = bits_of_float(value);
  if ((bits & 0x7f800000u) != 0x7f800000u) bits += 0x1000u;
  return float_of_bits(bits & 0xffffe000u);
}

}  // namespace stitch::emulator
