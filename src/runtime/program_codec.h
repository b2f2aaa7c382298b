// A launch program as bytes (docs/bundle_format.md) and back.
#ifndef STITCH_RUNTIME_PROGRAM_CODEC_H_
#define STITCH_RUNTIME_PROGRAM_CODEC_H_

#include <cstddef>
#include <string>

#include "runtime/bundle_format.h"

namespace STITCH_RUNTIME_NAMESPACE {

// Equal programs give equal bytes.
std::string encode_program(const LaunchProgram& program);

// Throws LauncherError with kInternal on bytes that encode_program of this version did not write.
LaunchProgram decode_program(const void* data, std::size_t bytes);

}  // namespace STITCH_RUNTIME_NAMESPACE

#endif  // STITCH_RUNTIME_PROGRAM_CODEC_H_
