#include "runtime/cublaslt.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "runtime/launcher_error.h"

namespace STITCH_RUNTIME_NAMESPACE {
namespace {

struct OpenLibrary {
  void* library = nullptr;
  std::string file;
};

OpenLibrary open_library(const Driver& driver) {
  const char* from_environment = std::getenv("STITCH_CUBLASLT");
  if (from_environment != nullptr && *from_environment != '\0') {
    if (void* library = dlopen(from_environment, RTLD_NOW | RTLD_LOCAL)) {
      return {library, from_environment};
    }
    const char* reason = dlerror();
    throw LauncherError(Status::kLibrary, std::string("cannot open cuBLASLt '") + from_environment +
                                              "' (from STITCH_CUBLASLT): " +
                                              (reason != nullptr ? reason : "unknown reason"));
  }
  if (dlsym(driver.library, "cublasLtCreate") != nullptr) return {driver.library, driver.file};
  for (const char* file : {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}) {
    if (void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL)) return {library, file};
  }
  throw LauncherError(Status::kLibrary,
                      "cannot open cuBLASLt: none of libcublasLt.so.13, libcublasLt.so.12 and "
                      "libcublasLt.so is there\nhelp: add its folder to LD_LIBRARY_PATH, set "
                      "STITCH_CUBLASLT to its file, or compile the model with --contractions own");
}

template <typename Function>
void assign(Function& member, const OpenLibrary& opened, const char* symbol) {
  void* address = dlsym(opened.library, symbol);
  if (address == nullptr) {
    throw LauncherError(Status::kLibrary,
                        "cuBLASLt '" + opened.file + "' has no function '" + symbol + "'");
  }
  std::memcpy(&member, &address, sizeof(address));
}

}  // namespace

CublasLt CublasLt::open(const Driver& driver) {
  const OpenLibrary opened = open_library(driver);
  CublasLt functions;
  functions.file = opened.file;
#define STITCH_RESOLVE(member, symbol, parameters) assign(functions.member, opened, symbol);
  STITCH_CUBLASLT_FUNCTIONS(STITCH_RESOLVE)
#undef STITCH_RESOLVE
  return functions;
}

void CublasLt::check(CublasStatus status, const char* call, const std::string& what) const {
  if (status == 0) return;
  throw LauncherError(Status::kLibrary,
                      what + ": " + call + " failed with cuBLAS status " + std::to_string(status));
}

}  // namespace STITCH_RUNTIME_NAMESPACE
