// A temporary folder that only this process uses; removed with the object.
#pragma once
#include <filesystem>

namespace stitch {

class PrivateFolder {
 public:
  // Creates it below `parent`, or below the system's folder for temporary files when empty.
  // Throws std::filesystem::filesystem_error.
  explicit PrivateFolder(const std::filesystem::path& parent = {});
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace stitch
