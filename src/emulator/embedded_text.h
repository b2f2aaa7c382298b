// The headers that host images are compiled with, embedded so that the installed tool needs no
// source tree. The files are those of image_text/.
#pragma once
#include <array>
#include <span>

#include "emulator/source_text.h"

namespace stitch {

std::span<const SourceText> emulator_headers();

}  // namespace stitch
