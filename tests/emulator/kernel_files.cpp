#include "kernel_files.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/catch.h"

namespace stitch::test {

SourceText kernel_file(const std::string& name) {
  const auto path = std::filesystem::path(STITCH_SOURCE_DIR) / "tests/emulator/kernels" / name;
  std::ifstream file(path);
  INFO(path);
  REQUIRE(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return {name, text.str()};
}

}  // namespace stitch::test
