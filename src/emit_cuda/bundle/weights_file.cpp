#include "emit_cuda/bundle/weights_file.h"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <map>
#include <utility>

#include "graph/error.h"
#include "runtime/content_hash.h"

namespace stitch {
namespace {

constexpr std::uint64_t kSegmentAlignment = 256;
constexpr std::uint64_t kPageBytes = 4096;

using Bytes = std::span<const std::byte>;

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

bool equal(Bytes first, Bytes second) {
  return first.size() == second.size() &&
         (first.data() == second.data() ||
          std::memcmp(first.data(), second.data(), first.size()) == 0);
}

// Writes bytes to the file and into the hash.
class HashedFile {
 public:
  explicit HashedFile(const std::filesystem::path& path)
      : path_(path), file_(path, std::ios::binary) {}

  void put(Bytes bytes) {
    file_.write(reinterpret_cast<const char*>(bytes.data()),
                static_cast<std::streamsize>(bytes.size()));
    hash_.add(bytes.data(), bytes.size());
    position_ += bytes.size();
  }
  void pad_to(std::uint64_t position) {
    const std::vector<std::byte> zeros(position - position_);
    put(zeros);
  }
  std::uint64_t position() const { return position_; }
  std::string finish() {
    file_.close();
    if (!file_) throw ModelError(fmt::format("cannot write '{}': disk full?", path_.string()));
    return hash_.finish();
  }

 private:
  std::filesystem::path path_;
  std::ofstream file_;
  runtime::ContentHash hash_;
  std::uint64_t position_ = 0;
};

}  // namespace

WeightsLayout lay_out_weights(const std::vector<Bytes>& segments) {
  WeightsLayout layout;
  // By size: only segments of equal size can be equal.
  std::multimap<std::size_t, std::size_t> placed;
  for (std::size_t number = 0; number < segments.size(); ++number) {
    const Bytes bytes = segments[number];
    const auto [first, last] = placed.equal_range(bytes.size());
    auto same = first;
    while (same != last && !equal(segments[same->second], bytes)) ++same;
    if (same != last) {
      layout.segments.push_back(layout.segments[same->second]);
      continue;
    }
    layout.segments.push_back({layout.bytes, bytes.size()});
    layout.bytes = rounded_up(layout.bytes + bytes.size(), kSegmentAlignment);
    placed.emplace(bytes.size(), number);
  }
  layout.bytes = rounded_up(layout.bytes, kPageBytes);
  return layout;
}

std::string write_weights(const std::filesystem::path& path, const std::vector<Bytes>& segments,
                          const WeightsLayout& layout) {
  if (layout.bytes == 0) return "";
  HashedFile file(path);
  for (std::size_t number = 0; number < segments.size(); ++number) {
    const runtime::ByteRange range = layout.segments[number];
    if (range.bytes == 0 || range.offset < file.position()) continue;  // placed already
    file.pad_to(range.offset);
    file.put(segments[number]);
  }
  file.pad_to(layout.bytes);
  return file.finish();
}

}  // namespace stitch
