// Conversion between TensorProto messages and tensors. Private to the files that know protobuf.
#pragma once
#include <string>

#include "frontend/onnx_model.h"
#include "graph/tensor.h"

namespace onnx {
class SparseTensorProto;
class TensorProto;
}  // namespace onnx

namespace stitch {

class ExternalData;

struct TensorSource {
  ExternalData* external = nullptr;  // null: external data is an error
  bool may_be_absent = false;
};

// Takes the bytes out of the message (no copy of raw data). Never throws ModelError: what is wrong
// is in the result's `problem`.
OnnxTensor take_tensor(onnx::TensorProto& message, const TensorSource& source);
// Dense form of a sparse tensor.
OnnxTensor take_sparse_tensor(onnx::SparseTensorProto& message, const TensorSource& source);
void fill_message(const Tensor& tensor, const std::string& name, onnx::TensorProto& message);

}  // namespace stitch
