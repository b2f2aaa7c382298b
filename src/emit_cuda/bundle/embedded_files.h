// Files that stitchc carries inside itself, so that an installed one needs no source tree: the
// launcher's sources, the same compiled ahead of time, and the templates of generated files.
#pragma once
#include <string_view>
#include <vector>

namespace stitch {

struct EmbeddedFile {
  std::string_view name;  // "runtime/driver.cpp", "templates/model.h.in", "launcher.o"
  std::string_view bytes;
};

// In the order of the build's list.
const std::vector<EmbeddedFile>& embedded_files();

// Throws InternalError when there is none of that name.
std::string_view embedded_file(std::string_view name);

}  // namespace stitch
