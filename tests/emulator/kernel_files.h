// The kernel texts of these tests.
#pragma once
#include <string>
#include <vector>

#include "emulator/source_text.h"

namespace stitch::test {

// A file of tests/emulator/kernels.
SourceText kernel_file(const std::string& name);

// The lines that end with a mark such as "// here: missing_barrier", as "seeded_bugs.cu:12".
std::vector<std::string> marked_lines(const SourceText& source, const std::string& mark,
                                      const std::string& kernel);

}  // namespace stitch::test
