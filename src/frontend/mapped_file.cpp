#include "frontend/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "frontend/name_suggestion.h"
#include "graph/error.h"

namespace stitch {
namespace {

std::string cannot_read(const std::filesystem::path& path, int error) {
  std::string message = "cannot read '" + path.string() + "': ";
  message += error == ENOENT ? "no such file" : std::generic_category().message(error);
  if (error != ENOENT) return message;
  std::vector<std::string> siblings;
  std::error_code ignored;
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    siblings.push_back(entry.path().filename().string());
  }
  if (const auto near = nearest_name(path.filename().string(), siblings)) {
    message += "\nhelp: did you mean '" + (path.parent_path() / *near).string() + "'?";
  }
  return message;
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw ModelError(cannot_read(path, errno));
  struct stat facts {};
  if (::fstat(file, &facts) != 0) {
    const int error = errno;
    ::close(file);
    throw ModelError(cannot_read(path, error));
  }
  if (S_ISDIR(facts.st_mode)) {
    ::close(file);
    throw ModelError(cannot_read(path, EISDIR));
  }
  const auto size = static_cast<size_t>(facts.st_size);
  void* address = nullptr;
  if (size > 0) {
    address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  }
  const int error = errno;
  ::close(file);
  if (address == MAP_FAILED) throw ModelError(cannot_read(path, error));
  return std::shared_ptr<const MappedFile>(
      new MappedFile({static_cast<const std::byte*>(address), size}));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

AbsentBytes::AbsentBytes(size_t byte_count, uint64_t number) {
  if (byte_count == 0) return;
  void* address = ::mmap(nullptr, byte_count, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) {
    throw ModelError("no address space for " + std::to_string(byte_count) + " bytes of weights");
  }
  std::memcpy(address, &number, std::min(byte_count, sizeof(number)));
  bytes_ = {static_cast<const std::byte*>(address), byte_count};
}

AbsentBytes::~AbsentBytes() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace stitch
