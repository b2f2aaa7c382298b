#include "emit_cuda/bundle/host_compiler.h"

#include "graph/subprocess.h"

namespace stitch {

std::optional<HostTools> find_host_tools() {
  const std::string archiver = find_program("ar");
  for (const char* name : {"c++", "g++", "clang++"}) {
    const std::string compiler = find_program(name);
    if (!compiler.empty() && !archiver.empty()) return HostTools{compiler, archiver};
  }
  return std::nullopt;
}

}  // namespace stitch
