// Which model a bundle was made from.
#pragma once
#include <filesystem>
#include <string>

namespace stitch {

// A 128-bit hash of the file's bytes, 32 hexadecimal digits. ModelError when it cannot be read.
// External data is not in it: the manifest has a hash of the weights that are used.
std::string model_hash(const std::filesystem::path& model);

}  // namespace stitch
