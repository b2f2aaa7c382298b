#include "frontend/external_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "frontend/mapped_file.h"
#include "graph/error.h"

namespace stitch {

std::filesystem::path ExternalData::confined_path(const std::string& location) const {
  namespace fs = std::filesystem;
  const fs::path relative(location);
  if (location.empty()) throw ModelError("external data without a location");
  if (location.find('\0') != std::string::npos || relative.is_absolute() ||
      std::any_of(relative.begin(), relative.end(), [](const fs::path& p) { return p == ".."; })) {
    throw ModelError(
        fmt::format("external data '{}' is not a path inside the model's folder", location));
  }
  std::error_code error;
  const fs::path root = fs::weakly_canonical(folder_.empty() ? "." : folder_, error);
  const fs::path file = fs::weakly_canonical(root / relative, error);
  const auto [in_root, in_file] = std::mismatch(root.begin(), root.end(), file.begin(), file.end());
  if (error || in_root != root.end()) {
    throw ModelError(
        fmt::format("external data '{}' is a link that leaves the model's folder", location));
  }
  return file;
}

bool ExternalData::exists(const ExternalReference& reference) const {
  std::error_code error;
  return std::filesystem::exists(confined_path(reference.location), error);
}

Tensor ExternalData::read(DType dtype, std::vector<int64_t> extents, int64_t byte_count,
                          const ExternalReference& reference) {
  auto& file = files_[reference.location];
  if (!file) file = MappedFile::open(confined_path(reference.location));
  const auto size = static_cast<int64_t>(file->bytes().size());
  if (reference.length && *reference.length != byte_count) {
    throw ModelError(fmt::format("external data '{}': length {} where the tensor has {} bytes",
                                 reference.location, *reference.length, byte_count));
  }
  if (reference.offset < 0 || reference.offset > size || byte_count > size - reference.offset) {
    throw ModelError(fmt::format(
        "external data '{}': bytes {} to {} of a file of {} bytes", reference.location,
        reference.offset,
        static_cast<uint64_t>(reference.offset) + static_cast<uint64_t>(byte_count), size));
  }
  const auto bytes =
      file->bytes().subspan(static_cast<size_t>(reference.offset), static_cast<size_t>(byte_count));
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  if (address % static_cast<uintptr_t>(size_bytes(dtype)) != 0) {  // elements must be aligned
    Tensor copy(dtype, std::move(extents));
    std::memcpy(copy.mutable_bytes().data(), bytes.data(), bytes.size());
    return copy;
  }
  return Tensor(dtype, std::move(extents), bytes, file);
}

}  // namespace stitch
