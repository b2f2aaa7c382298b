// The generated sources of a bundle: C header, entry points, image table, build files.
#pragma once
#include <string>
#include <vector>

#include "runtime/bundle_format.h"

namespace stitch {

struct GeneratedFile {
  std::string path;  // from the bundle's root
  std::string text;
};

// One image in the order of the image block.
struct PlacedImage {
  std::string path;  // from the bundle's root
};

struct GeneratedFilesInput {
  const runtime::LaunchProgram& program;  // complete, with model_name
  const std::vector<PlacedImage>& images;
  std::string tool_version;
};

std::vector<GeneratedFile> generated_files(const GeneratedFilesInput& input);

}  // namespace stitch
