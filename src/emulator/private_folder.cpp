#include "emulator/private_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace stitch {

PrivateFolder::PrivateFolder(const std::filesystem::path& parent) {
  const auto below = parent.empty() ? std::filesystem::temp_directory_path() : parent;
  std::string name = (below / "stitch_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    throw std::filesystem::filesystem_error("cannot create a temporary folder", below,
                                            std::error_code(errno, std::generic_category()));
  path_ = name;
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;  // what cannot be removed stays behind
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace stitch
