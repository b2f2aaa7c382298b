#include "emit_cuda/cuda_types.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "graph/error.h"

namespace stitch {
namespace {

std::string with_point(std::string digits) {
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  return digits;
}

}  // namespace

std::string memory_type(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8:
      return "unsigned char";
    case DType::kI8:
      return "signed char";
    case DType::kI16:
      return "short";
    case DType::kI32:
      return "int";
    case DType::kI64:
      return "long long";
    case DType::kU16:
      return "unsigned short";
    case DType::kU32:
      return "unsigned";
    case DType::kU64:
      return "unsigned long long";
    case DType::kF16:
      return "__half";
    case DType::kBF16:
      return "__nv_bfloat16";
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
  }
  throw InternalError("an element type has no spelling in CUDA");
}

std::string register_type(DType dtype) {
  if (dtype == DType::kBool) return "bool";
  return memory_type(compute_type(dtype));
}

std::string real_literal(DType dtype, double value) {
  const bool is_double = dtype == DType::kF64;
  if (std::isnan(value)) return is_double ? "double(stitch_nan())" : "stitch_nan()";
  if (std::isinf(value)) {
    const std::string infinity = is_double ? "double(stitch_infinity())" : "stitch_infinity()";
    return value < 0 ? "-" + infinity : infinity;
  }
  if (is_double) return with_point(fmt::format("{}", value));
  return with_point(fmt::format("{}", static_cast<float>(value))) + "f";
}

std::string integer_literal(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::kI64:
      if (value == std::numeric_limits<int64_t>::min()) return "(-9223372036854775807ll - 1)";
      return fmt::format("{}ll", value);
    case DType::kU64:
      return fmt::format("{}ull", static_cast<uint64_t>(value));
    case DType::kU32:
      return fmt::format("{}u", static_cast<uint32_t>(value));
    case DType::kI32:
      if (value == std::numeric_limits<int32_t>::min()) return "(-2147483647 - 1)";
      return fmt::format("{}", value);
    case DType::kBool:
      return value != 0 ? "true" : "false";
    case DType::kI8:
    case DType::kI16:
    case DType::kU8:
    case DType::kU16:
      return fmt::format("static_cast<{}>({})", memory_type(dtype), value);
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64:
      return real_literal(dtype, static_cast<double>(value));
  }
  throw InternalError("an element type has no literals");
}

std::string literal(const Tensor& tensor, int64_t index) {
  if (is_float(tensor.dtype())) return real_literal(tensor.dtype(), tensor.real(index));
  return integer_literal(tensor.dtype(), tensor.integer(index));
}

}  // namespace stitch
