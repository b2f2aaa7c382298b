#include "bundle_inputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/name_suggestion.h"
#include "graph/error.h"
#include "model_flags.h"
#include "runtime/element_type.h"

namespace stitch {

DType dtype_of(runtime::ElementType type) {
  const std::string wanted = runtime::element_name(type);
  for (int i = 0; i <= static_cast<int>(DType::kF64); ++i)
    if (long_name(static_cast<DType>(i)) == wanted) return static_cast<DType>(i);
  throw InternalError("the bundle holds an unknown element type");
}

std::map<std::string, Tensor> read_bundle_inputs(const std::vector<std::string>& texts,
                                                 const std::vector<runtime::TensorInfo>& expected) {
  std::vector<std::string> names;
  for (const runtime::TensorInfo& info : expected) names.push_back(info.name);
  std::map<std::string, Tensor> tensors;
  for (const std::string& text : texts) {
    const NameValue input = split_name_value("--input", text);
    if (std::find(names.begin(), names.end(), input.name) == names.end()) {
      std::string message =
          fmt::format("the model has no input '{}'; it has {}", input.name, fmt::join(names, ", "));
      if (const auto near = nearest_name(input.name, names))
        message += "\nhelp: did you mean '" + *near + "'?";
      throw ModelError(message);
    }
    tensors[input.name] = read_tensor_file(input.value);
  }
  for (const runtime::TensorInfo& info : expected) {
    const auto given = tensors.find(info.name);
    if (given == tensors.end())
      throw ModelError(fmt::format("input '{}' is missing\nhelp: pass --input {}=FILE.npy",
                                   info.name, info.name));
    const DType dtype = dtype_of(info.type);
    if (given->second.dtype() != dtype || given->second.extents() != info.dims)
      throw ModelError(fmt::format("input '{}' is {}[{}]; the bundle was compiled for {}[{}]",
                                   info.name, long_name(given->second.dtype()),
                                   fmt::join(given->second.extents(), ","), long_name(dtype),
                                   fmt::join(info.dims, ",")));
  }
  return tensors;
}

}  // namespace stitch
