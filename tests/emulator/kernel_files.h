// The kernel texts of these tests.
#pragma once
#include <string>

#include "emulator/source_text.h"

namespace stitch::test {

// A file of tests/emulator/kernels.
SourceText kernel_file(const std::string& name);

}  // namespace stitch::test
