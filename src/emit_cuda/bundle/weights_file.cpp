#include "emit_cuda/bundle/weights_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

#include "graph/error.h"
#include "runtime/content_hash.h"

namespace stitch {
namespace {

constexpr std::uint64_t kSegmentAlignment = 256;
constexpr std::uint64_t kPageBytes = 4096;
// Of elements that are put in order at a time.
constexpr int64_t kChunkBytes = int64_t{1} << 20;

using Bytes = std::span<const std::byte>;

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

bool equal(Bytes first, Bytes second) {
  return first.size() == second.size() &&
         (first.data() == second.data() ||
          std::memcmp(first.data(), second.data(), first.size()) == 0);
}

bool equal(const WeightSegment& first, const WeightSegment& second) {
  return first.order.extents == second.order.extents &&
         first.order.strides == second.order.strides && equal(first.bytes, second.bytes);
}

void gather(const StridedView& view, size_t element_bytes, Bytes from, std::vector<std::byte>& to) {
  const auto copy = [&]<class Element>(Element) {
    gather_strided(view, reinterpret_cast<const Element*>(from.data()),
                   reinterpret_cast<Element*>(to.data()));
  };
  switch (element_bytes) {
    case 1:
      return copy(std::uint8_t{});
    case 2:
      return copy(std::uint16_t{});
    case 4:
      return copy(std::uint32_t{});
    case 8:
      return copy(std::uint64_t{});
    default:
      throw InternalError(fmt::format("weights of {} bytes an element", element_bytes));
  }
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
  void put(const WeightSegment& segment) {
    const StridedView& order = segment.order;
    if (order.extents.empty()) return put(segment.bytes);
    const int64_t row = static_cast<int64_t>(segment.bytes.size()) / order.extents[0];
    const int64_t most = std::max<int64_t>(kChunkBytes / row, 1);
    for (int64_t first = 0; first < order.extents[0]; first += most) {
      StridedView chunk = order;
      chunk.base = first * order.strides[0];
      chunk.extents[0] = std::min(most, order.extents[0] - first);
      std::vector<std::byte> bytes(static_cast<size_t>(chunk.extents[0] * row));
      gather(chunk, segment.element_bytes, segment.bytes, bytes);
      put(bytes);
    }
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

WeightSegment weight_segment(const Tensor& tensor, const std::vector<int64_t>& extents,
                             const std::vector<int64_t>& strides) {
  WeightSegment segment;
  segment.bytes = tensor.bytes();
  segment.element_bytes = static_cast<size_t>(size_bytes(tensor.dtype()));
  if (tensor.element_count() == 0 || strides == row_major_strides(extents)) return segment;
  const std::optional<StridedView> order = in_storage_order(extents, strides);
  if (!order) throw InternalError("a constant whose strides are no order of its elements");
  segment.order = joined(*order);
  return segment;
}

std::vector<std::byte> stored_bytes(const WeightSegment& segment) {
  std::vector<std::byte> bytes(segment.bytes.begin(), segment.bytes.end());
  if (!segment.order.extents.empty()) {
    gather(segment.order, segment.element_bytes, segment.bytes, bytes);
  }
  return bytes;
}

WeightsLayout lay_out_weights(const std::vector<WeightSegment>& segments) {
  WeightsLayout layout;
  // By size: only segments of equal size can be equal.
  std::multimap<std::size_t, std::size_t> placed;
  for (std::size_t number = 0; number < segments.size(); ++number) {
    const WeightSegment& segment = segments[number];
    const Bytes bytes = segment.bytes;
    const auto [first, last] = placed.equal_range(bytes.size());
    auto same = first;
    while (same != last && !equal(segments[same->second], segment)) ++same;
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

std::string write_weights(const std::filesystem::path& path,
                          const std::vector<WeightSegment>& segments, const WeightsLayout& layout) {
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
