// Folding at import: operators on small tensors whose elements are all known (operators.md 5).
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "frontend/imported_value.h"
#include "frontend/onnx_model.h"

namespace stitch {

class PrimitiveBuilder;
struct OperatorRow;

struct FoldingRequest {
  const OnnxNode& node;
  const OperatorRow& row;
  int64_t opset = 1;
  std::span<const ImportedValuePtr> inputs;  // null: absent
  std::span<const OnnxAttribute> attributes;
  PrimitiveBuilder& builder;  // of the graph; only read
};

// The results of the node when every input is known at import and so are the results; else empty.
// Numbers go through the operator's own lowering and the evaluator, so that folding has no second
// set of rules. Symbolic extents are moved by the same lowering applied to their positions:
// Slice([b,s,h], 1, 3) on positions [0,1,2] gives [1,2], thus [s,h]. Arithmetic on symbolic extents
// is Dim algebra (dim_arithmetic.h).
std::vector<ImportedValuePtr> fold_node(const FoldingRequest& request);

}  // namespace stitch
