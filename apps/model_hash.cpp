#include "model_hash.h"

#include <fmt/format.h>

#include <array>
#include <fstream>

#include "graph/error.h"
#include "runtime/content_hash.h"

namespace stitch {

std::string model_hash(const std::filesystem::path& model) {
  std::ifstream in(model, std::ios::binary);
  if (!in) throw ModelError(fmt::format("cannot read '{}'", model.string()));
  runtime::ContentHash hash;
  std::array<char, 1 << 16> piece{};
  while (in.read(piece.data(), piece.size()) || in.gcount() > 0)
    hash.add(piece.data(), static_cast<size_t>(in.gcount()));
  return hash.finish();
}

}  // namespace stitch
