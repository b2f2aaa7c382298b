// A folder of compiled units, keyed by everything that decides their bytes.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "emit_cuda/compile/nvrtc.h"

namespace stitch {

// Entries hold the whole key, so that a hash collision is a miss and never a wrong cubin; they are
// written to a temporary name and renamed, so that concurrent runs may share the folder.
class CubinCache {
 public:
  explicit CubinCache(std::filesystem::path folder);  // empty: every look-up misses
  std::optional<NvrtcOutput> find(const std::string& key) const;
  // A folder that cannot be written only costs time: failures are ignored.
  void store(const std::string& key, const NvrtcOutput& output) const;

 private:
  std::filesystem::path path_of(const std::string& key) const;
  std::filesystem::path folder_;
};

}  // namespace stitch
