// The measuring kernels (kernels/*.cu) as text, embedded in the binary.
#pragma once
#include <span>
#include <string_view>

namespace stitch {

struct MeasuringText {
  std::string_view name;  // "memory.cu"
  std::string_view text;  // includes files of src/emit_cuda/device
};

// Sorted by name.
std::span<const MeasuringText> measuring_texts();

}  // namespace stitch
