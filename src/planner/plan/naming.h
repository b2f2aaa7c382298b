// Names that the reader of emitted code meets: kernels from the ONNX nodes in them, buffers from
// the ONNX values.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "graph/graph.h"

namespace stitch {

// "/encoder/layer.0/attention/Softmax" and two more, number 3:
//   "k03_encoder_layer_0_attention_softmax_add"; lower snake case, at most 48 characters.
std::string kernel_name(int number, const Graph& graph, std::span<const SourceId> sources);

// Of a kernel without ONNX nodes, because an output is an input or a constant: "k00_copy_of_x".
std::string copy_kernel_name(int number, std::string_view value_name);

// Hands out buffer names: the last part of the ONNX value's name as a C identifier, made unique by
// a number at its end.
class BufferNames {
 public:
  std::string take(std::string_view value_name);

 private:
  std::unordered_map<std::string, int> next_;  // of each taken name, the suffix to try next
};

}  // namespace stitch
