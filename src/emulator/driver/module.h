// A loaded host image: its shared objects and the functions in them.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "emulator/device/launch.h"
#include "emulator/image_container.h"

namespace stitch::emulator {

// One variant of an image, in memory as code. The bytes live in an anonymous file.
class LoadedObject {
 public:
  // Throws std::runtime_error that says why it cannot be loaded.
  explicit LoadedObject(std::span<const std::byte> shared_object);
  ~LoadedObject();
  LoadedObject(const LoadedObject&) = delete;
  LoadedObject& operator=(const LoadedObject&) = delete;

  const ImageEntry& entry() const { return *entry_; }
  const KernelRecord* find(const std::string& kernel) const;

 private:
  int file_ = -1;
  void* library_ = nullptr;
  const ImageEntry* entry_ = nullptr;
};

class Module;

struct Function {
  Module* module = nullptr;
  std::string name;
  const KernelRecord* record = nullptr;  // of either variant: limits and argument sizes
  int max_dynamic_shared = 48 << 10;  // raised by CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
  int shared_carveout = -1;
  int non_portable_cluster = 0;
};

class Module {
 public:
  // Null when the bytes are not a host image. Throws std::runtime_error when one cannot be loaded.
  static std::unique_ptr<Module> load(const void* image);

  // Null when there is no such kernel.
  Function* find(const std::string& kernel);
  const std::map<std::string, std::unique_ptr<Function>>& functions() const { return functions_; }
  // Null when the image lacks the variant.
  const LoadedObject* variant(ImageVariant variant) const;

 private:
  std::map<ImageVariant, std::unique_ptr<LoadedObject>> objects_;
  std::map<std::string, std::unique_ptr<Function>> functions_;
};

}  // namespace stitch::emulator
