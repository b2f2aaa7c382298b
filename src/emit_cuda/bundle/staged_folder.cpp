#include "emit_cuda/bundle/staged_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "emit_cuda/bundle/manifest.h"
#include "graph/error.h"

namespace stitch {
namespace {

namespace fs = std::filesystem;

fs::path make_staging(const fs::path& target) {
  const fs::path parent = target.parent_path();
  std::error_code error;
  fs::create_directories(parent, error);
  std::string pattern = (parent / ("." + target.filename().string() + ".XXXXXX")).string();
  if (error || mkdtemp(pattern.data()) == nullptr) {
    throw ModelError(fmt::format("cannot write into '{}': {}", parent.string(),
                                 error ? error.message() : std::strerror(errno)));
  }
  // mkdtemp makes a private folder; a bundle is an ordinary one.
  fs::permissions(pattern, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                               fs::perms::others_read | fs::perms::others_exec);
  return pattern;
}

}  // namespace

void require_replaceable(const fs::path& target, bool overwrite_anything) {
  if (!fs::exists(target) || overwrite_anything) return;
  if (fs::is_directory(target) && (fs::is_empty(target) || is_bundle(target))) return;
  throw ModelError(
      fmt::format("'{}' exists and was not made by stitchc\n"
                  "help: choose another folder, or pass --force to replace it",
                  target.string()));
}

StagedFolder::StagedFolder(fs::path target, bool overwrite_anything)
    : target_(fs::absolute(target).lexically_normal()) {
  if (!target_.has_filename()) target_ = target_.parent_path();  // "out/" is "out"
  require_replaceable(target_, overwrite_anything);
  staging_ = make_staging(target_);
}

StagedFolder::~StagedFolder() {
  std::error_code ignored;
  if (!staging_.empty()) fs::remove_all(staging_, ignored);
}

void StagedFolder::write(const fs::path& relative, std::string_view bytes) const {
  const fs::path path = staging_ / relative;
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw ModelError(fmt::format("cannot write '{}': disk full?", path.string()));
}

void StagedFolder::commit() {
  std::error_code error;
  const fs::path replaced = staging_.string() + ".old";
  const bool replaces = fs::exists(target_);
  if (replaces) fs::rename(target_, replaced, error);
  if (!error) fs::rename(staging_, target_, error);
  if (error) {
    std::error_code ignored;
    if (replaces && !fs::exists(target_)) fs::rename(replaced, target_, ignored);
    throw ModelError(
        fmt::format("cannot move the bundle to '{}': {}", target_.string(), error.message()));
  }
  staging_.clear();
  if (replaces) fs::remove_all(replaced, error);
}

}  // namespace stitch
