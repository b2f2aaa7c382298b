// Inputs of a bundle from files, and the element types of its tensors.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "graph/tensor.h"
#include "runtime/runner/loaded_bundle.h"

namespace stitch {

DType dtype_of(runtime::ElementType type);

// From the texts of --input NAME=FILE, one for each expected input. ModelError for one that is
// missing, misnamed, or of another type or shape.
std::map<std::string, Tensor> read_bundle_inputs(const std::vector<std::string>& texts,
                                                 const std::vector<runtime::TensorInfo>& expected);

}  // namespace stitch
