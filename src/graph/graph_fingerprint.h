// A short text that differs between graphs of different structure, names, types or small constants:
// it ties a plan to the model that it was made for.
#pragma once
#include <string>

#include "graph/graph.h"

namespace stitch {

// "g" and 16 hexadecimal digits. Constants of more than 64 elements count by their type only: a
// plan is as good for other weights, and need not have them at hand.
std::string fingerprint_text(const Graph& graph);

}  // namespace stitch
