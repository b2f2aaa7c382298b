#include "runtime/driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "runtime/launcher_error.h"

namespace STITCH_RUNTIME_NAMESPACE {
namespace {

// The version whose meaning of a function is asked for: cuLaunchKernelEx came with 11.8.
constexpr int kCudaVersion = 11080;

using GetProcAddress = CUresult (*)(const char*, void**, int, std::uint64_t, void*);
using GetProcAddressBefore12 = CUresult (*)(const char*, void**, int, std::uint64_t);

std::string driver_file(const std::string& path) {
  if (!path.empty()) return path;
  const char* from_environment = std::getenv("STITCH_CUDA_DRIVER");
  if (from_environment != nullptr && *from_environment != '\0') return from_environment;
  return "libcuda.so.1";
}

// cuGetProcAddress wants the name without the version suffix and adds the right one itself.
std::string name_without_version(const char* symbol) {
  std::string name = symbol;
  const std::size_t suffix = name.rfind("_v");
  if (suffix != std::string::npos && suffix + 3 == name.size()) name.resize(suffix);
  return name;
}

void* find_function(void* library, const char* symbol) {
  void* function = nullptr;
  const std::string name = name_without_version(symbol);
  if (void* lookup = dlsym(library, "cuGetProcAddress_v2")) {
    reinterpret_cast<GetProcAddress>(lookup)(name.c_str(), &function, kCudaVersion, 0, nullptr);
  } else if (void* old_lookup = dlsym(library, "cuGetProcAddress")) {
    reinterpret_cast<GetProcAddressBefore12>(old_lookup)(name.c_str(), &function, kCudaVersion, 0);
  }
  return function != nullptr ? function : dlsym(library, symbol);
}

template <typename Function>
void assign(Function& member, void* address) {
  static_assert(sizeof(member) == sizeof(address));
  std::memcpy(&member, &address, sizeof(address));
}

}  // namespace

Driver Driver::open(const std::string& path) {
  Driver driver;
  driver.file = driver_file(path);
  driver.library = dlopen(driver.file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (driver.library == nullptr) {
    const char* reason = dlerror();
    throw LauncherError(Status::kNoDriver,
                        "cannot open the CUDA driver '" + driver.file +
                            "': " + (reason != nullptr ? reason : "unknown reason") +
                            "\nhelp: install the NVIDIA driver, or set STITCH_CUDA_DRIVER to the "
                            "file of another driver library");
  }
#define STITCH_RESOLVE(member, symbol, parameters) \
  assign(driver.member, find_function(driver.library, symbol));
  STITCH_DRIVER_REQUIRED(STITCH_RESOLVE)
  STITCH_DRIVER_ON_DEMAND(STITCH_RESOLVE)
#undef STITCH_RESOLVE
#define STITCH_REQUIRE(member, symbol, parameters) driver.require(driver.member, symbol);
  STITCH_DRIVER_REQUIRED(STITCH_REQUIRE)
#undef STITCH_REQUIRE
  driver.check(driver.init(0), "cuInit", "starting the CUDA driver '" + driver.file + "'");
  return driver;
}

void Driver::throw_failed(CUresult result, const char* call, const char* what) const {
  const char* name = nullptr;
  if (get_error_name(result, &name) != kCudaSuccess || name == nullptr) name = "unknown error";
  throw LauncherError(Status::kDriver, std::string(what) + ": " + call + " failed with " + name +
                                           " (" + std::to_string(result) + ")");
}

void Driver::throw_missing(const char* symbol) const {
  throw LauncherError(Status::kNoDriver, "the CUDA driver '" + file + "' has no function '" +
                                             symbol +
                                             "'\nhelp: a driver of CUDA 11.8 or later is needed");
}

CurrentContext::CurrentContext(const Driver& driver, CUcontext context) : driver_(driver) {
  CUcontext current = nullptr;
  driver.check(driver.context_get_current(&current), "cuCtxGetCurrent", "selecting the device");
  if (current == context) return;
  driver.check(driver.context_push(context), "cuCtxPushCurrent", "selecting the device");
  pushed_ = true;
}

CurrentContext::~CurrentContext() {
  CUcontext popped = nullptr;
  if (pushed_) driver_.context_pop(&popped);
}

}  // namespace STITCH_RUNTIME_NAMESPACE
