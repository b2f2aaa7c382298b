// Where each image lies in the block of images that is linked into a bundle's library.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "emit_cuda/bundle/bundle_contents.h"

namespace stitch {

struct BlockImage {
  std::uint32_t architecture = 80;
  std::string path;  // from the bundle's root: "images/sm_80/unit_00.cubin"
  runtime::Image image;
  std::uint32_t unit_count = 1;  // image.unit and those after it
  std::span<const std::byte> bytes;
};

struct ImageBlock {
  std::vector<BlockImage> images;  // in block order
  std::uint64_t bytes = 0;
};

// Each image begins at a multiple of 64 and a zero byte follows it (PTX is a C string to the
// driver): the assembler lines of c_api_text.cpp say the same.
ImageBlock lay_out_images(const std::vector<ArchitectureImages>& images);

// Enters the images into the programs of their architectures. Throws InternalError when there is no
// program for an architecture.
void place_images(const ImageBlock& block, runtime::LaunchProgram& program);

// "cubin", "ptx", "host"
std::string image_kind_name(runtime::ImageKind kind);

}  // namespace stitch
