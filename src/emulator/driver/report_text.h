// A report as one line of text.
#pragma once
#include <string>

#include "emulator/device/report.h"

namespace stitch::emulator {

// Example: race in softmax_rows: read of shared memory+4 that another thread has written, at
// softmax.cu:31, block 0 thread 32; against softmax.cu:28, block 0 thread 0
std::string report_text(const Report& report);

}  // namespace stitch::emulator
