// NumPy's .npy files, versions 1 to 3, C order, little endian.
#pragma once
#include <filesystem>

#include "graph/tensor.h"

namespace stitch {

// ModelError naming the file when it is not such a file or its element type is not supported.
Tensor read_npy(const std::filesystem::path& path);
// bf16 is written as f32: NumPy has no such type.
void write_npy(const std::filesystem::path& path, const Tensor& tensor);

}  // namespace stitch
