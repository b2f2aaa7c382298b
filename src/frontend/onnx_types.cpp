#include "frontend/onnx_types.h"

#include <array>
#include <string_view>

#include "graph/error.h"

namespace stitch {
namespace {

struct OnnxType {
  std::string_view name;
  std::optional<DType> dtype;
};

// Indexed by TensorProto.DataType (onnx.proto of ONNX 1.23).
constexpr std::array<OnnxType, 28> kOnnxTypes = {{
    {"undefined", {}},
    {"float32", DType::kF32},
    {"uint8", DType::kU8},
    {"int8", DType::kI8},
    {"uint16", DType::kU16},
    {"int16", DType::kI16},
    {"int32", DType::kI32},
    {"int64", DType::kI64},
    {"string", {}},
    {"bool", DType::kBool},
    {"float16", DType::kF16},
    {"float64", DType::kF64},
    {"uint32", DType::kU32},
    {"uint64", DType::kU64},
    {"complex64", {}},
    {"complex128", {}},
    {"bfloat16", DType::kBF16},
    {"float8e4m3fn", {}},
    {"float8e4m3fnuz", {}},
    {"float8e5m2", {}},
    {"float8e5m2fnuz", {}},
    {"uint4", {}},
    {"int4", {}},
    {"float4e2m1", {}},
    {"float8e8m0", {}},
    {"uint2", {}},
    {"int2", {}},
    {"float6", {}},
}};

}  // namespace

std::optional<DType> dtype_of_onnx(int64_t onnx_type) {
  if (onnx_type < 0 || onnx_type >= static_cast<int64_t>(kOnnxTypes.size())) return {};
  return kOnnxTypes[static_cast<size_t>(onnx_type)].dtype;
}

int32_t onnx_type_of(DType dtype) {
  for (size_t i = 0; i < kOnnxTypes.size(); ++i) {
    if (kOnnxTypes[i].dtype == dtype) return static_cast<int32_t>(i);
  }
  throw InternalError("dtype without an ONNX number");
}

std::string onnx_type_name(int64_t onnx_type) {
  if (onnx_type < 0 || onnx_type >= static_cast<int64_t>(kOnnxTypes.size())) {
    return "type " + std::to_string(onnx_type);
  }
  return std::string(kOnnxTypes[static_cast<size_t>(onnx_type)].name);
}

DType require_dtype(int64_t onnx_type) {
  if (const auto dtype = dtype_of_onnx(onnx_type)) return *dtype;
  throw ModelError(onnx_type_name(onnx_type) + " elements are not supported");
}

}  // namespace stitch
