// The interface of an ONNX file: inputs, outputs, opset, without importing it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/dim.h"
#include "graph/dtype.h"
#include "graph/tensor.h"

namespace stitch {

struct DeclaredDim {
  std::optional<int64_t> extent;
  // The symbol, or "input.axis" for a dimension that has neither extent nor symbol.
  std::string name;
};

struct DeclaredTensor {
  std::string name;
  std::optional<DType> dtype;  // nothing for strings and other unsupported types
  bool has_shape = false;
  std::vector<DeclaredDim> dims;
};

struct ModelSignature {
  std::vector<DeclaredTensor> inputs;  // without those that are initialisers
  std::vector<DeclaredTensor> outputs;
  int64_t opset = 0;
  int64_t node_count = 0;  // Constant nodes not counted
};

ModelSignature read_signature(const std::filesystem::path& model);

// Values of the symbols that make the inputs' declared extents equal to those of the tensors.
// A symbol that stands for two extents is bound by input and axis instead ("image.2").
DimBindings bind_dims(const ModelSignature& signature, const std::map<std::string, Tensor>& inputs);

}  // namespace stitch
