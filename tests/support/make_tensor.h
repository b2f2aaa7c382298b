// Tensors of tests: from written values, or pseudo-random from a seed.
#pragma once
#include <cstdint>
#include <random>
#include <vector>

#include "graph/tensor.h"

namespace stitch {

inline Tensor make_tensor(DType dtype, std::vector<int64_t> extents,
                          const std::vector<double>& values) {
  Tensor tensor(dtype, std::move(extents));
  for (size_t i = 0; i < values.size(); ++i) {
    tensor.set_real(static_cast<int64_t>(i), values[i]);
  }
  return tensor;
}

inline Tensor make_integers(DType dtype, std::vector<int64_t> extents,
                            const std::vector<int64_t>& values) {
  Tensor tensor(dtype, std::move(extents));
  for (size_t i = 0; i < values.size(); ++i) {
    tensor.set_integer(static_cast<int64_t>(i), values[i]);
  }
  return tensor;
}

// Floats uniform in [-2, 2); integers and bool uniform in small ranges, where signed around zero.
inline Tensor random_tensor(DType dtype, std::vector<int64_t> extents, uint32_t seed) {
  Tensor tensor(dtype, std::move(extents));
  std::mt19937 generator(seed);
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    const auto word = static_cast<uint32_t>(generator());
    if (is_float(dtype)) {
      tensor.set_real(i, static_cast<double>(word) * 0x1p-30 - 2.0);
    } else if (dtype == DType::kBool) {
      tensor.set_integer(i, word & 1);
    } else {
      tensor.set_integer(i, static_cast<int64_t>(word % 17) - (is_signed(dtype) ? 8 : 0));
    }
  }
  return tensor;
}

}  // namespace stitch
