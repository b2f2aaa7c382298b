#include "runtime/runner/bundle_library.h"

#include <dlfcn.h>

#include "runtime/launcher_error.h"

namespace stitch::runtime {
namespace {

template <typename Function>
void assign(Function& member, void* library, const std::string& symbol, const std::string& file) {
  void* address = dlsym(library, symbol.c_str());
  if (address == nullptr) {
    throw LauncherError(Status::kAbi, "'" + file + "' has no function '" + symbol + "'");
  }
  member = reinterpret_cast<Function>(address);
}

}  // namespace

BundleLibrary::BundleLibrary(const std::filesystem::path& file, const std::string& name) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    throw LauncherError(Status::kAbi,
                        "cannot open the bundle's library: " +
                            std::string(reason != nullptr ? reason : file.string()) +
                            "\nhelp: where a C++ compiler is, compile the model again, or build "
                            "the bundle's CMakeLists.txt");
  }
#define STITCH_RESOLVE(member, suffix, result, parameters) \
  assign(member, library, name + "_" suffix, file.string());
  STITCH_BUNDLE_FUNCTIONS(STITCH_RESOLVE)
#undef STITCH_RESOLVE
  if (abi_version() != kAbiVersion) {
    throw LauncherError(Status::kAbi, "'" + file.string() + "' has ABI version " +
                                          std::to_string(abi_version()) + ", this stitchc uses " +
                                          std::to_string(kAbiVersion));
  }
}

void BundleLibrary::check(std::int32_t status) const {
  if (status == static_cast<std::int32_t>(Status::kOk)) return;
  throw LauncherError(static_cast<Status>(status), last_error(nullptr));
}

}  // namespace stitch::runtime
