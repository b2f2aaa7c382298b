#include "graph/dtype.h"

#include <array>

namespace stitch {
namespace {

struct DTypeFacts {
  DType dtype;
  std::string_view name;
  std::string_view long_name;
  int64_t size_bytes;
};

constexpr std::array<DTypeFacts, 13> kDTypes = {{
    {DType::kBool, "bool", "bool", 1},
    {DType::kI8, "i8", "int8", 1},
    {DType::kI16, "i16", "int16", 2},
    {DType::kI32, "i32", "int32", 4},
    {DType::kI64, "i64", "int64", 8},
    {DType::kU8, "u8", "uint8", 1},
    {DType::kU16, "u16", "uint16", 2},
    {DType::kU32, "u32", "uint32", 4},
    {DType::kU64, "u64", "uint64", 8},
    {DType::kF16, "f16", "float16", 2},
    {DType::kBF16, "bf16", "bfloat16", 2},
    {DType::kF32, "f32", "float32", 4},
    {DType::kF64, "f64", "float64", 8},
}};

const DTypeFacts& facts(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }

}  // namespace

int64_t size_bytes(DType dtype) { return facts(dtype).size_bytes; }

std::string_view name(DType dtype) { return facts(dtype).name; }

std::string_view long_name(DType dtype) { return facts(dtype).long_name; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (const DTypeFacts& row : kDTypes) {
    if (row.name == text) return row.dtype;
  }
  return std::nullopt;
}

bool is_float(DType dtype) { return dtype >= DType::kF16; }

bool is_integer(DType dtype) { return dtype != DType::kBool && !is_float(dtype); }

bool is_signed(DType dtype) {
  return is_float(dtype) || (dtype >= DType::kI8 && dtype <= DType::kI64);
}

bool is_half(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

DType compute_type(DType dtype) { return is_half(dtype) ? DType::kF32 : dtype; }

}  // namespace stitch
