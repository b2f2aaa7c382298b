#include "emit_cuda/compile/cubin_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <system_error>
#include <thread>

namespace stitch {
namespace fs = std::filesystem;

namespace {

// FNV-1a, 64 bits (Fowler, Noll, Vo).
uint64_t hash_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

void write_field(std::ostream& out, const void* data, size_t size) {
  const uint64_t bytes = size;
  out.write(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  out.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
}

bool read_field(std::istream& in, std::string& field, uint64_t limit) {
  uint64_t bytes = 0;
  if (!in.read(reinterpret_cast<char*>(&bytes), sizeof bytes) || bytes > limit) return false;
  field.resize(bytes);
  return static_cast<bool>(in.read(field.data(), static_cast<std::streamsize>(bytes)));
}

}  // namespace

CubinCache::CubinCache(fs::path folder) : folder_(std::move(folder)) {
  std::error_code ignored;
  if (!folder_.empty()) fs::create_directories(folder_, ignored);
}

fs::path CubinCache::path_of(const std::string& key) const {
  return folder_ / fmt::format("{:016x}.unit", hash_of(key));
}

std::optional<NvrtcOutput> CubinCache::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  const fs::path path = path_of(key);
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  std::string stored_key, log, cubin;
  if (!read_field(in, stored_key, size) || stored_key != key || !read_field(in, log, size) ||
      !read_field(in, cubin, size))
    return std::nullopt;
  const auto* bytes = reinterpret_cast<const std::byte*>(cubin.data());
  return NvrtcOutput{{bytes, bytes + cubin.size()}, log};
}

void CubinCache::store(const std::string& key, const NvrtcOutput& output) const {
  if (folder_.empty()) return;
  const fs::path path = path_of(key);
  const fs::path temporary = fmt::format("{}.{}.{}", path.string(), getpid(),
                                         std::hash<std::thread::id>()(std::this_thread::get_id()));
  {
    std::ofstream out(temporary, std::ios::binary);
    write_field(out, key.data(), key.size());
    write_field(out, output.log.data(), output.log.size());
    write_field(out, output.cubin.data(), output.cubin.size());
    if (!out) return;
  }
  std::error_code ignored;
  fs::rename(temporary, path, ignored);
}

}  // namespace stitch
