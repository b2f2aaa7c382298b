// Source lines of code addresses, from the debug information of checked images.
#pragma once
#include <string>

namespace stitch::emulator {

struct SourceLine {
  // "softmax.cu:31", or "softmax.cu:31 (stitch_load, vector.cuh:38)" inside a device function;
  // empty when the address is null or its image has no debug information.
  std::string text;
};

// Runs addr2line on the first question about an address; answers are kept.
const SourceLine& source_line(const void* site);

// Forgets all answers: an image has been unloaded, its addresses may come back with another.
void forget_source_lines();

}  // namespace stitch::emulator
