// What a name of the ONNX file stands for during import.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/element_tensor.h"
#include "frontend/onnx_model.h"
#include "graph/ids.h"

namespace stitch {

struct ImportedValue;
using ImportedValuePtr = std::shared_ptr<ImportedValue>;

// One of: a value of the graph; elements known at import; an initialiser not yet needed; a list.
// The first three may hold together: the others are made when first asked for.
struct ImportedValue {
  std::string name;
  ValueId value;                          // none until something reads it in the graph
  std::optional<ElementTensor> elements;  // of small values known at import
  const OnnxTensor* initializer = nullptr;
  std::shared_ptr<const OnnxTensor> owned_tensor;  // behind `initializer` where nothing else is
  bool elements_looked_up = false;
  bool is_sequence = false;
  std::vector<ImportedValuePtr> sequence;  // ONNX sequences exist at import only
  bool failed = false;  // its node has a problem already; what reads it is skipped in silence
};

}  // namespace stitch
