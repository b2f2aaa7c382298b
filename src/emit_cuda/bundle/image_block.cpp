#include "emit_cuda/bundle/image_block.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"

namespace stitch {
namespace {

constexpr std::uint64_t kImageAlignment = 64;

std::string file_suffix(runtime::ImageKind kind) {
  switch (kind) {
    case runtime::ImageKind::kCubin:
      return "cubin";
    case runtime::ImageKind::kPtx:
      return "ptx";
    case runtime::ImageKind::kHost:
      return "host.so";
  }
  return "";
}

}  // namespace

ImageBlock lay_out_images(const std::vector<ArchitectureImages>& images) {
  ImageBlock block;
  for (const ArchitectureImages& architecture : images) {
    for (const UnitImage& unit : architecture.images) {
      BlockImage placed;
      placed.architecture = architecture.architecture;
      placed.path = fmt::format("images/sm_{}/unit_{:02}.{}", architecture.architecture, unit.unit,
                                file_suffix(unit.kind));
      placed.image = {unit.kind, unit.unit, block.bytes, unit.bytes.size()};
      placed.unit_count = unit.unit_count;
      placed.bytes = unit.bytes;
      const std::uint64_t end = block.bytes + unit.bytes.size() + 1;
      block.bytes = (end + kImageAlignment - 1) / kImageAlignment * kImageAlignment;
      block.images.push_back(placed);
    }
  }
  return block;
}

void place_images(const ImageBlock& block, runtime::LaunchProgram& program) {
  for (runtime::ArchitectureProgram& architecture : program.architectures) {
    architecture.images.clear();
  }
  for (const BlockImage& image : block.images) {
    const auto found = std::ranges::find(program.architectures, image.architecture,
                                         &runtime::ArchitectureProgram::architecture);
    if (found == program.architectures.end()) {
      throw InternalError(fmt::format("image '{}' belongs to no program", image.path));
    }
    for (std::uint32_t i = 0; i < image.unit_count; ++i) {
      found->images.push_back(image.image);
      found->images.back().unit += i;
    }
  }
}

std::string image_kind_name(runtime::ImageKind kind) {
  switch (kind) {
    case runtime::ImageKind::kCubin:
      return "cubin";
    case runtime::ImageKind::kPtx:
      return "ptx";
    case runtime::ImageKind::kHost:
      return "host";
  }
  return "";
}

}  // namespace stitch
