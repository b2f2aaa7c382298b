// A file mapped read-only into memory; tensors keep it alive.
#pragma once
#include <filesystem>
#include <memory>
#include <span>

#include "graph/tensor.h"

namespace stitch {

class MappedFile : public TensorStorage {
 public:
  // ModelError "cannot read 'x': no such file"; with a help line when a sibling's name is close.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() override;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

// Zero bytes that take no memory until they are written: the data of weights that are absent.
class AbsentBytes : public TensorStorage {
 public:
  // `number` goes into the first bytes, so that no two absent weights look equal.
  AbsentBytes(size_t byte_count, uint64_t number);
  AbsentBytes(const AbsentBytes&) = delete;
  AbsentBytes& operator=(const AbsentBytes&) = delete;
  ~AbsentBytes() override;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace stitch
