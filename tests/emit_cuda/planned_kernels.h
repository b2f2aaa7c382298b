// Text graph -> plan -> kernels -> emulated device, beside the evaluation of the same graph.
#pragma once
#include <string>
#include <vector>

#include "emit_cuda/emit_kernel.h"
#include "graph/graph.h"
#include "planner/make_plan.h"

namespace stitch::test {

// Emits the kernels of a text graph; contractions are our own, so that nothing else is needed.
std::vector<KernelSource> emitted(const std::string& graph_text, FusionMode fusion);

// Runs the emitted kernels on the emulator, checked, with random inputs, and compares every output:
// of a kernel per node with the native evaluation, of stitched kernels with that in f64.
void check_on_emulator(const std::string& graph_text);
void check_on_emulator(const std::string& graph_text, FusionMode fusion, uint32_t seed = 1);

// Non-overlapping occurrences of a part of the text.
size_t occurrences(const std::string& text, const std::string& part);

}  // namespace stitch::test
