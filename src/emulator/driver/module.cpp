#include "emulator/driver/module.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "emulator/device/source_lines.h"
#include "emulator/device/worker.h"

namespace stitch::emulator {
namespace {

void write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      throw std::runtime_error(std::string("cannot store an image: ") + strerror(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

bool has_avx2_fma() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#else
  return false;
#endif
}

}  // namespace

LoadedObject::LoadedObject(std::span<const std::byte> shared_object) {
  file_ = memfd_create("stitch_host_image", MFD_CLOEXEC);
  if (file_ < 0) throw std::runtime_error(std::string("cannot store an image: ") + strerror(errno));
  write_all(file_, shared_object);
  // By process number, so that addr2line, a child, finds the file under the same name.
  const std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file_);
  library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    const std::string why = dlerror();
    close(file_);
    throw std::runtime_error("cannot load a host image: " + why);
  }
  entry_ = static_cast<const ImageEntry*>(dlsym(library_, "stitch_host_image"));
  if (entry_ == nullptr || entry_->abi_version != stitch_simt::kImageAbiVersion) {
    dlclose(library_);
    close(file_);
    throw std::runtime_error("the host image was built for another version of the emulator");
  }
  if (entry_->uses_avx2_fma && !has_avx2_fma()) {
    dlclose(library_);
    close(file_);
    throw std::runtime_error("the host image needs a processor with AVX2 and FMA");
  }
  entry_->connect(&device_calls());
}

LoadedObject::~LoadedObject() {
  dlclose(library_);
  close(file_);
  forget_source_lines();
}

const KernelRecord* LoadedObject::find(const std::string& kernel) const {
  for (const KernelRecord* const* r = entry_->kernels; r != entry_->kernels_end; ++r)
    if (kernel == (*r)->name) return *r;
  return nullptr;
}

std::unique_ptr<Module> Module::load(const void* image) {
  const auto views = read_host_image(image);
  if (!views) return nullptr;
  auto module = std::make_unique<Module>();
  for (const ImageVariantView& view : *views) {
    auto& object = module->objects_[view.variant];
    object = std::make_unique<LoadedObject>(view.shared_object);
    const ImageEntry& entry = object->entry();
    for (const KernelRecord* const* r = entry.kernels; r != entry.kernels_end; ++r) {
      auto& function = module->functions_[(*r)->name];
      if (!function) function = std::make_unique<Function>();
      function->module = module.get();
      function->name = (*r)->name;
      function->record = *r;
    }
  }
  return module;
}

Function* Module::find(const std::string& kernel) {
  const auto found = functions_.find(kernel);
  return found == functions_.end() ? nullptr : found->second.get();
}

const LoadedObject* Module::variant(ImageVariant variant) const {
  const auto found = objects_.find(variant);
  return found == objects_.end() ? nullptr : found->second.get();
}

}  // namespace stitch::emulator
