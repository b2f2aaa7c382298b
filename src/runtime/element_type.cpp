#include "runtime/element_type.h"

namespace STITCH_RUNTIME_NAMESPACE {

std::uint32_t element_bytes(ElementType type) {
  switch (type) {
    case ElementType::kUint8:
    case ElementType::kInt8:
    case ElementType::kBool:
    case ElementType::kFloat8E4m3:
    case ElementType::kFloat8E5m2:
      return 1;
    case ElementType::kUint16:
    case ElementType::kInt16:
    case ElementType::kFloat16:
    case ElementType::kBfloat16:
      return 2;
    case ElementType::kFloat32:
    case ElementType::kInt32:
    case ElementType::kUint32:
      return 4;
    case ElementType::kInt64:
    case ElementType::kUint64:
    case ElementType::kFloat64:
      return 8;
  }
  return 0;
}

const char* element_name(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return "float32";
    case ElementType::kUint8:
      return "uint8";
    case ElementType::kInt8:
      return "int8";
    case ElementType::kUint16:
      return "uint16";
    case ElementType::kInt16:
      return "int16";
    case ElementType::kInt32:
      return "int32";
    case ElementType::kInt64:
      return "int64";
    case ElementType::kBool:
      return "bool";
    case ElementType::kFloat16:
      return "float16";
    case ElementType::kFloat64:
      return "float64";
    case ElementType::kUint32:
      return "uint32";
    case ElementType::kUint64:
      return "uint64";
    case ElementType::kBfloat16:
      return "bfloat16";
    case ElementType::kFloat8E4m3:
      return "float8e4m3";
    case ElementType::kFloat8E5m2:
      return "float8e5m2";
  }
  return "unknown";
}

}  // namespace STITCH_RUNTIME_NAMESPACE
