// The host compiler with the headers that kernel units are compiled against, precompiled.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "emulator/host_image.h"
#include "emulator/image_container.h"
#include "emulator/private_folder.h"

namespace stitch {

class ImageToolchain {
 public:
  // Finds the compiler and writes the headers, to the cache folder or to a private one.
  // Throws ModelError when there is no compiler or no CUDA headers.
  explicit ImageToolchain(const HostImageOptions& options);

  // Precompiles the headers of a variant unless the cache has them. Throws InternalError.
  void prepare(ImageVariant variant) const;

  // Whether units see the device headers before their own first line.
  bool knows_device_headers() const { return knows_device_headers_; }

  // Both throw InternalError with the compiler's messages.
  void compile(ImageVariant variant, const std::filesystem::path& source,
               const std::filesystem::path& object) const;
  void link(const std::vector<std::filesystem::path>& objects,
            const std::filesystem::path& shared_object) const;

 private:
  std::vector<std::string> flags(ImageVariant variant) const;
  void run(const std::vector<std::string>& command, const char* failure) const;
  std::filesystem::path prelude(ImageVariant variant) const;

  std::string compiler_;
  bool is_clang_ = false;
  bool is_x86_64_ = false;
  bool knows_device_headers_ = false;
  std::filesystem::path cuda_include_folder_;
  std::unique_ptr<PrivateFolder> private_folder_;  // null when the cache is used
  std::filesystem::path folder_;
};

}  // namespace stitch
