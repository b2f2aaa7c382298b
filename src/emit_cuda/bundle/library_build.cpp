#include "emit_cuda/bundle/library_build.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <vector>

#include "emit_cuda/bundle/bundle_name.h"
#include "emit_cuda/bundle/launcher_object.h"
#include "graph/error.h"
#include "graph/subprocess.h"

namespace stitch {
namespace {

namespace fs = std::filesystem;

void run_or_throw(const std::vector<std::string>& command, const fs::path& folder) {
  const ProcessResult result = run_process(command, folder);
  if (result.exit_code == 0) return;
  throw InternalError(fmt::format("building the bundle's library failed with exit code {}:\n{}\n{}",
                                  result.exit_code, fmt::join(command, " "), result.output));
}

void write_launcher_object(const fs::path& path, const std::string& name) {
  const std::string object = launcher_object(launcher_namespace(name));
  std::ofstream file(path, std::ios::binary);
  file.write(object.data(), static_cast<std::streamsize>(object.size()));
}

}  // namespace

void build_libraries(const fs::path& folder, const std::string& name, const HostTools& tools) {
  const std::string compiler = tools.compiler.string();
  const fs::path objects = folder / "lib" / "objects";
  fs::create_directories(objects);
  // Names of archive members say whose they are when several models are linked.
  const std::string entry_points = "lib/objects/" + name + ".o";
  const std::string images = "lib/objects/" + name + "_images.o";
  const std::string launcher = "lib/objects/" + name + "_launcher.o";
  write_launcher_object(folder / launcher, name);
  run_or_throw({compiler, "-std=c++17", "-O1", "-fPIC", "-fvisibility=hidden", "-Iinclude", "-Isrc",
                "-c", "src/" + name + ".cpp", "-o", entry_points},
               folder);
  run_or_throw({compiler, "-fPIC", "-c", "src/" + name + "_images.S", "-o", images}, folder);
  // D: no time stamps or user ids in the archive.
  run_or_throw(
      {tools.archiver.string(), "rcsD", "lib/lib" + name + ".a", entry_points, images, launcher},
      folder);
  run_or_throw({compiler, "-shared", "-o", "lib/lib" + name + ".so", entry_points, images, launcher,
                "-Wl,-soname,lib" + name + ".so", "-Wl,--version-script=src/exports.map",
                "-Wl,--no-undefined", "-Wl,--build-id=none", "-Wl,-z,noexecstack", "-ldl"},
               folder);
  fs::remove_all(objects);
}

}  // namespace stitch
