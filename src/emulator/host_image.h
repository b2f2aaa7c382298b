// Compiles emitted CUDA text with the host compiler into an image that the emulated driver loads.
//
// The text is the very text that NVRTC compiles. The image holds one or two shared objects of the
// same kernels (image_container.h): plain for speed, checked for the emulator's checks and
// counters.
#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "emulator/source_text.h"

namespace stitch {

struct HostImageOptions {
  std::vector<SourceText> device_headers;     // what units include besides CUDA's own headers
  std::filesystem::path cuda_include_folder;  // holds cuda_fp16.h
  std::filesystem::path cache_folder;  // keeps the precompiled headers; empty = built each time
  std::string compiler = "c++";        // g++ or clang++, searched on PATH
  bool plain = true;
  bool checked = true;
  unsigned jobs = 1;  // compilers at once
};

// Compiles all kernels of `units`; kernel names must be unique. The result is what cuModuleLoadData
// and cuLibraryLoadData of the emulated driver accept.
// Throws ModelError when there is no compiler, InternalError when a unit does not compile.
std::vector<std::byte> build_host_image(std::span<const SourceText> units,
                                        const HostImageOptions& options);

}  // namespace stitch
