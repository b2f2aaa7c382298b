#include "emit_cuda/bundle/embedded_files.h"

#include <algorithm>
#include <string>

#include "graph/error.h"

namespace stitch {

std::string_view embedded_file(std::string_view name) {
  const auto& files = embedded_files();
  const auto found = std::ranges::find(files, name, &EmbeddedFile::name);
  if (found == files.end()) {
    throw InternalError("no embedded file '" + std::string(name) + "'");
  }
  return found->bytes;
}

}  // namespace stitch
