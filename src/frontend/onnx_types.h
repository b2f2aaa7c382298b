// Element types of ONNX by number (TensorProto.DataType), and which of them the graph has.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "graph/dtype.h"

namespace stitch {

// The dtype of an ONNX element type; nothing for strings, complex numbers and types below 8 bits
// or of 8-bit floats, which the graph does not have.
std::optional<DType> dtype_of_onnx(int64_t onnx_type);
// TensorProto.DataType of a dtype.
int32_t onnx_type_of(DType dtype);
// "float32", "string", "float8e4m3fn" ..., "type 99" for unknown numbers.
std::string onnx_type_name(int64_t onnx_type);
// dtype_of_onnx, or ModelError "string elements are not supported".
DType require_dtype(int64_t onnx_type);

}  // namespace stitch
