// A folder written aside and moved into place when it is complete, so that an interrupted run
// leaves nothing half-made.
#pragma once
#include <filesystem>
#include <string_view>

namespace stitch {

// ModelError when `target` exists and may not be replaced: it is neither empty nor a bundle, and
// `overwrite_anything` is false. For callers that want to know before they do the work.
void require_replaceable(const std::filesystem::path& target, bool overwrite_anything);

class StagedFolder {
 public:
  // As require_replaceable.
  StagedFolder(std::filesystem::path target, bool overwrite_anything);
  ~StagedFolder();  // removes what was not committed
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;

  const std::filesystem::path& path() const { return staging_; }

  // Writes a file, making its folders. Throws ModelError when the disk refuses.
  void write(const std::filesystem::path& relative, std::string_view bytes) const;

  // Moves the folder to its target, in place of what was there.
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path staging_;  // beside the target, on the same file system
};

}  // namespace stitch
