#include "frontend/signature.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/count_nodes.h"
#include "frontend/onnx_model.h"
#include "frontend/onnx_types.h"

namespace stitch {
namespace {

DeclaredTensor declared(const OnnxValueInfo& info) {
  DeclaredTensor result{info.name, dtype_of_onnx(info.element_type), info.has_shape, {}};
  for (size_t axis = 0; axis < info.dims.size(); ++axis) {
    const OnnxDim& dim = info.dims[axis];
    DeclaredDim d;
    if (dim.extent && *dim.extent >= 0) {
      d.extent = dim.extent;
    } else {
      d.name = dim.symbol.empty() ? fmt::format("{}.{}", info.name, axis) : dim.symbol;
    }
    result.dims.push_back(std::move(d));
  }
  return result;
}

}  // namespace

ModelSignature read_signature(const std::filesystem::path& file) {
  const OnnxModel model = read_model(file, {.weights_may_be_absent = true});
  ModelSignature signature;
  for (const OnnxValueInfo& input : model.graph.inputs) {
    const auto& initializers = model.graph.initializers;
    const bool is_initializer =
        std::any_of(initializers.begin(), initializers.end(),
                    [&](const OnnxTensor& tensor) { return tensor.name == input.name; });
    if (!is_initializer) signature.inputs.push_back(declared(input));
  }
  for (const OnnxValueInfo& output : model.graph.outputs) {
    signature.outputs.push_back(declared(output));
  }
  const auto opset = model.opsets.find("");
  if (opset != model.opsets.end()) signature.opset = opset->second;
  signature.node_count = count_nodes(model);
  return signature;
}

DimBindings bind_dims(const ModelSignature& signature,
                      const std::map<std::string, Tensor>& inputs) {
  DimBindings bindings;
  for (const DeclaredTensor& input : signature.inputs) {
    const auto found = inputs.find(input.name);
    if (found == inputs.end()) continue;
    const std::vector<int64_t>& extents = found->second.extents();
    for (size_t axis = 0; axis < std::min(input.dims.size(), extents.size()); ++axis) {
      const DeclaredDim& dim = input.dims[axis];
      if (dim.extent) continue;
      const auto [entry, is_new] = bindings.emplace(dim.name, extents[axis]);
      if (!is_new && entry->second != extents[axis]) {
        bindings[fmt::format("{}.{}", input.name, axis)] = extents[axis];
      }
    }
  }
  return bindings;
}

}  // namespace stitch
