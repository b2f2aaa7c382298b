#include "emulator/image_container.h"

#include <array>
#include <cstring>

namespace stitch {
namespace {

constexpr std::array<char, 16> kMagic = {'s', 't', 'i', 't', 'c', 'h', ' ', 'h',
                                         'o', 's', 't', ' ', 'i', 'm', 'g', '\n'};
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kMaxVariants = 2;
constexpr std::size_t kAlignment = 16;

struct Header {
  std::array<char, 16> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t count = 0;
};

struct Entry {
  std::uint32_t variant = 0;
  std::uint32_t zero = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

std::size_t aligned(std::size_t offset) {
  return (offset + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

std::vector<std::byte> pack_host_image(std::span<const ImageVariantBytes> variants) {
  Header header;
  header.count = static_cast<std::uint32_t>(variants.size());
  std::vector<Entry> entries;
  std::size_t end = aligned(sizeof(Header) + variants.size() * sizeof(Entry));
  for (const ImageVariantBytes& v : variants) {
    entries.push_back({static_cast<std::uint32_t>(v.variant), 0, end, v.shared_object.size()});
    end = aligned(end + v.shared_object.size());
  }
  std::vector<std::byte> image(end);
  std::memcpy(image.data(), &header, sizeof header);
  if (!entries.empty())
    std::memcpy(image.data() + sizeof header, entries.data(), entries.size() * sizeof(Entry));
  for (std::size_t i = 0; i < variants.size(); ++i)
    std::memcpy(image.data() + entries[i].offset, variants[i].shared_object.data(),
                variants[i].shared_object.size());
  return image;
}

std::optional<std::vector<ImageVariantView>> read_host_image(const void* image) {
  const auto* const begin = static_cast<const std::byte*>(image);
  // A foreign image may end before a whole header: compare byte by byte.
  for (std::size_t i = 0; i < kMagic.size(); ++i)
    if (static_cast<char>(begin[i]) != kMagic[i]) return std::nullopt;
  Header header;
  std::memcpy(&header, begin, sizeof header);
  if (header.version != kVersion || header.count > kMaxVariants) return std::nullopt;
  std::vector<ImageVariantView> views;
  for (std::uint32_t i = 0; i < header.count; ++i) {
    Entry entry;
    std::memcpy(&entry, begin + sizeof header + i * sizeof entry, sizeof entry);
    views.push_back({static_cast<ImageVariant>(entry.variant),
                     {begin + entry.offset, static_cast<std::size_t>(entry.bytes)}});
  }
  return views;
}

}  // namespace stitch
