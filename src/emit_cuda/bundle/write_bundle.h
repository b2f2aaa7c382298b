// Puts a bundle on disk (docs/bundle_format.md).
#pragma once
#include <filesystem>

#include "emit_cuda/bundle/bundle_contents.h"

namespace stitch {

struct BundleOptions {
  bool force = false;           // replace a folder that stitchc did not make
  bool build_libraries = true;  // lib/libNAME.a and .so, when a host compiler is there
};

struct BundleSummary {
  std::uint64_t image_bytes = 0;
  bool libraries_built = false;  // false: no host compiler was found, or none was wanted
};

// contents.manifest.name is the bundle's name (a C identifier, see bundle_name.h). The folder
// appears complete or not at all; equal contents give equal bytes. Throws ModelError when the
// folder may not be replaced or written, InternalError on contents that contradict themselves.
BundleSummary write_bundle(const BundleContents& contents, const std::filesystem::path& path,
                           const BundleOptions& options = {});

}  // namespace stitch
