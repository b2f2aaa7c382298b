// The bytes of a host image: shared objects of the same kernels behind one header, so that an image
// can be told from a cubin and its length is known from its beginning.
//
// Layout, little endian: magic (16 bytes), version (u32), count (u32), then per variant kind (u32),
// 0 (u32), offset from the beginning (u64), bytes (u64); then the shared objects, 16-byte aligned.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stitch {

enum class ImageVariant : std::uint32_t {
  kPlain = 0,    // runs at full speed
  kChecked = 1,  // reports every access to memory
};

struct ImageVariantBytes {
  ImageVariant variant = ImageVariant::kPlain;
  std::vector<std::byte> shared_object;
};

std::vector<std::byte> pack_host_image(std::span<const ImageVariantBytes> variants);

// Reads the header at `image`, of which only the first bytes need to be a host image. Empty when it
// is something else or of another version. The result points into the image.
struct ImageVariantView {
  ImageVariant variant = ImageVariant::kPlain;
  std::span<const std::byte> shared_object;
};
std::optional<std::vector<ImageVariantView>> read_host_image(const void* image);

}  // namespace stitch
