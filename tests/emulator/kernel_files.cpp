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

std::vector<std::string> marked_lines(const SourceText& source, const std::string& mark,
                                      const std::string& kernel) {
  std::vector<std::string> lines;
  std::istringstream text(source.text);
  std::string line;
  for (int number = 1; std::getline(text, line); ++number)
    if (line.ends_with("// " + mark + ": " + kernel))
      lines.push_back(source.name + ":" + std::to_string(number));
  return lines;
}

}  // namespace stitch::test
