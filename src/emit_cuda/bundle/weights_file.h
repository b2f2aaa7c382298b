// weights.bin: a bundle's constants, one segment after another, ready to be mapped and uploaded.
#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "graph/strided_copy.h"
#include "graph/tensor.h"
#include "runtime/bundle_format.h"

namespace stitch {

// A constant as kernels read it.
struct WeightSegment {
  std::span<const std::byte> bytes;  // as the graph has it: row-major
  StridedView order;  // its elements, one after another as the file has them; no extents: as in `bytes`
  size_t element_bytes = 1;
};

// `tensor` as dims of these extents with these strides, in elements, hold it; they have to be an
// order of its elements (in_storage_order).
WeightSegment weight_segment(const Tensor& tensor, const std::vector<int64_t>& extents,
                             const std::vector<int64_t>& strides);
std::vector<std::byte> stored_bytes(const WeightSegment& segment);

struct WeightsLayout {
  std::vector<runtime::ByteRange> segments;
  std::uint64_t bytes = 0;  // a multiple of the page size
};

// Segments begin at multiples of 256 bytes, as device allocations do. Equal contents (the same
// constant under two names) in one order share one place.
WeightsLayout lay_out_weights(const std::vector<WeightSegment>& segments);

// Writes the file (none when there are no weights) and returns the hash of its contents. Memory
// use does not grow with the weights. Throws ModelError when the disk refuses.
std::string write_weights(const std::filesystem::path& path,
                          const std::vector<WeightSegment>& segments, const WeightsLayout& layout);

}  // namespace stitch
