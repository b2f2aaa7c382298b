// TensorProto files (input_0.pb, output_0.pb): the test data layout of ONNX.
#pragma once
#include <filesystem>
#include <string>

#include "graph/tensor.h"

namespace stitch {

// ModelError when there is no such file, it is not a TensorProto, or its type is not supported.
Tensor read_tensor_pb(const std::filesystem::path& path);
void write_tensor_pb(const std::filesystem::path& path, const Tensor& tensor,
                     const std::string& name);

}  // namespace stitch
