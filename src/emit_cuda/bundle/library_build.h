// lib/libNAME.a and lib/libNAME.so of a bundle, built from its generated sources.
#pragma once
#include <filesystem>
#include <string>

#include "emit_cuda/bundle/host_compiler.h"

namespace stitch {

// `folder` is the bundle's root with everything else in place. The launcher is not compiled again
// (launcher_object.h), only the entry points and the images. Throws InternalError with the
// compiler's output.
void build_libraries(const std::filesystem::path& folder, const std::string& name,
                     const HostTools& tools);

}  // namespace stitch
