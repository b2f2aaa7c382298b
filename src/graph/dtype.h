// Element types of tensors.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace stitch {

enum class DType : uint8_t {
  kBool,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kF16,
  kBF16,
  kF32,
  kF64,
};

// Bytes of one stored element (bool: 1).
int64_t size_bytes(DType dtype);
// "f32", "i64", "bool" ...: the spelling of the text form.
std::string_view name(DType dtype);
std::optional<DType> parse_dtype(std::string_view text);
// "float32", "int64" ...: the spelling of messages and manifests.
std::string_view long_name(DType dtype);
bool is_float(DType dtype);    // f16, bf16, f32, f64
bool is_integer(DType dtype);  // signed and unsigned, not bool
bool is_signed(DType dtype);   // floats and signed integers
bool is_half(DType dtype);     // f16, bf16
// The type in which arithmetic on `dtype` is done (numerics.md 2): f32 for 16-bit floats.
DType compute_type(DType dtype);

}  // namespace stitch
