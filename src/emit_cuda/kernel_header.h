// The comment that every emitted kernel begins with: kernel, nodes, stages with their groups and
// barriers, values, bytes, limit (exemplars, section 2).
#pragma once
#include <string>

#include "emit_cuda/kernel_context.h"

namespace stitch {

std::string kernel_header(KernelContext& context);
// Names of ONNX nodes with their common scope factored out: "/layer.0/{Add,norm/Sub}".
std::string factored_names(std::vector<std::string> names);

}  // namespace stitch
