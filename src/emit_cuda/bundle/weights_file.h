// weights.bin: a bundle's constants, one segment after another, ready to be mapped and uploaded.
#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "runtime/bundle_format.h"

namespace stitch {

struct WeightsLayout {
  std::vector<runtime::ByteRange> segments;
  std::uint64_t bytes = 0;  // a multiple of the page size
};

// Segments begin at multiples of 256 bytes, as device allocations do. Equal contents (the same
// constant under two names) share one place.
WeightsLayout lay_out_weights(const std::vector<std::span<const std::byte>>& segments);

// Writes the file (none when there are no weights) and returns the hash of its contents. Memory
// use does not grow with the weights. Throws ModelError when the disk refuses.
std::string write_weights(const std::filesystem::path& path,
                          const std::vector<std::span<const std::byte>>& segments,
                          const WeightsLayout& layout);

}  // namespace stitch
