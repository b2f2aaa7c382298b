#include "emulated_driver.h"

#include <filesystem>
#include <vector>

#include "graph/error.h"

namespace stitch {
namespace fs = std::filesystem;

std::string emulated_driver_file() {
  constexpr const char* kFile = "libstitch_emulated_driver.so";
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
  std::string looked;
  for (const fs::path& folder :
       {program, program / "../lib", fs::path(STITCH_EMULATED_DRIVER_DIR)}) {
    if (fs::exists(folder / kFile)) return (folder / kFile).string();
    looked += "\nnote: looked in " + folder.string();
  }
  throw DeviceError(std::string("cannot find ") + kFile + looked);
}

}  // namespace stitch
