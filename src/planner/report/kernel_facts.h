// What tables and reports ask of a planned kernel.
#pragma once
#include <string>
#include <vector>

#include "planner/plan/plan.h"

namespace stitch {

// One of its stages is a contraction: the kernel counts as such, not as memory-intensive.
bool holds_contraction(const Kernel& kernel);

// Row and grid barriers of all parts: separations at which blocks wait for such as may not be
// resident. Tickets and barriers of a cluster are none.
int waiting_barriers(const Kernel& kernel);

// The value that a kernel without ONNX nodes copies to an output: an input or a constant.
AccessValueId copied_value(const AccessGraph& graph, const Kernel& kernel);

// The ONNX nodes of a kernel; of one that has none, what it does: "copy of x".
std::vector<std::string> node_names(const AccessGraph& graph, const Kernel& kernel);

}  // namespace stitch
