// Tensor data that lives in files beside the model (ONNX external data).
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "graph/tensor.h"

namespace stitch {

class MappedFile;

struct ExternalReference {
  std::string location;  // relative to the model's folder
  int64_t offset = 0;
  std::optional<int64_t> length;  // bytes; to the end of the tensor where absent
};

// Maps each file once. Files outside the model's folder are refused: absolute paths, "..", and
// symbolic links that lead out.
class ExternalData {
 public:
  explicit ExternalData(std::filesystem::path folder) : folder_(std::move(folder)) {}

  bool exists(const ExternalReference& reference) const;
  // ModelError when the file is missing or outside, or does not hold the bytes.
  Tensor read(DType dtype, std::vector<int64_t> extents, int64_t byte_count,
              const ExternalReference& reference);

 private:
  std::filesystem::path confined_path(const std::string& location) const;

  std::filesystem::path folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

}  // namespace stitch
