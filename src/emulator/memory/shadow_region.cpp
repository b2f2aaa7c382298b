#include "emulator/memory/shadow_region.h"

#include <algorithm>

namespace stitch::emulator {
namespace {

constexpr std::size_t kWordBits = 64;

// Calls visit(word index, mask) for the words that hold bits [begin, begin + count).
template <class Visit>
void visit_words(std::size_t begin, std::size_t count, Visit visit) {
  while (count > 0) {
    const std::size_t low = begin % kWordBits;
    const std::size_t here = std::min(count, kWordBits - low);
    const std::uint64_t ones = here == kWordBits ? ~0ull : (1ull << here) - 1;
    visit(begin / kWordBits, ones << low);
    begin += here;
    count -= here;
  }
}

}  // namespace

ShadowRegion::ShadowRegion(std::size_t bytes)
    : pages_((bytes + kShadowPageBytes - 1) / kShadowPageBytes) {}
ShadowRegion::ShadowRegion(ShadowRegion&&) noexcept = default;
ShadowRegion& ShadowRegion::operator=(ShadowRegion&&) noexcept = default;
ShadowRegion::~ShadowRegion() = default;

void ShadowRegion::define_range(std::size_t offset, std::size_t bytes) {
  while (bytes > 0) {
    Page& page = pages_[offset / kShadowPageBytes];
    const std::size_t begin = offset % kShadowPageBytes;
    const std::size_t count = std::min(bytes, kShadowPageBytes - begin);
    if (count == kShadowPageBytes) {
      page.all_defined = true;
      page.defined.reset();
    } else if (!page.all_defined) {
      if (!page.defined) page.defined = std::make_unique<Bits>();
      visit_words(begin, count, [&](std::size_t w, std::uint64_t m) { (*page.defined)[w] |= m; });
    }
    offset += count;
    bytes -= count;
  }
}

void ShadowRegion::undefine(std::size_t offset, std::size_t bytes) {
  while (bytes > 0) {
    Page& page = pages_[offset / kShadowPageBytes];
    const std::size_t begin = offset % kShadowPageBytes;
    const std::size_t count = std::min(bytes, kShadowPageBytes - begin);
    if (count == kShadowPageBytes) {
      page.all_defined = false;
      page.defined.reset();
    } else {
      if (page.all_defined) {
        page.defined = std::make_unique<Bits>();
        page.defined->fill(~0ull);
        page.all_defined = false;
      }
      if (page.defined)
        visit_words(begin, count,
                    [&](std::size_t w, std::uint64_t m) { (*page.defined)[w] &= ~m; });
    }
    offset += count;
    bytes -= count;
  }
}

void ShadowRegion::undefine_all() {
  for (Page& page : pages_) {
    page.all_defined = false;
    if (page.defined) page.defined->fill(0);
  }
}

std::size_t ShadowRegion::undefined_bytes(std::size_t offset, std::size_t bytes) const {
  std::size_t undefined = 0;
  while (bytes > 0) {
    const Page& page = pages_[offset / kShadowPageBytes];
    const std::size_t begin = offset % kShadowPageBytes;
    const std::size_t count = std::min(bytes, kShadowPageBytes - begin);
    if (!page.all_defined) {
      if (!page.defined)
        undefined += count;
      else
        visit_words(begin, count, [&](std::size_t w, std::uint64_t m) {
          undefined += static_cast<std::size_t>(__builtin_popcountll(~(*page.defined)[w] & m));
        });
    }
    offset += count;
    bytes -= count;
  }
  return undefined;
}

ShadowCell* ShadowRegion::make_cells(Page& page, std::size_t offset, std::size_t bytes) {
  // The widest cell that both ends of the access respect.
  auto shift = static_cast<std::uint8_t>(__builtin_ctzll(offset | bytes | 16u));
  shift = std::min(shift, page.shift);
  if (!page.cells) {
    page.shift = shift;
    page.cells = std::make_unique<ShadowCell[]>(kShadowPageBytes >> shift);
    page.generation = generation_;
  } else {
    if (shift < page.shift) split(page, shift);
    if (page.generation != generation_) {
      std::fill_n(page.cells.get(), kShadowPageBytes >> page.shift, ShadowCell());
      page.generation = generation_;
    }
  }
  return page.cells.get();
}

void ShadowRegion::split(Page& page, std::uint8_t shift) {
  const std::size_t count = kShadowPageBytes >> shift;
  auto cells = std::make_unique<ShadowCell[]>(count);
  for (std::size_t i = 0; i < count; ++i) cells[i] = page.cells[i << shift >> page.shift];
  page.cells = std::move(cells);
  page.shift = shift;
}

std::size_t ShadowRegion::cell_bytes() const {
  std::size_t bytes = 0;
  for (const Page& page : pages_)
    if (page.cells) bytes += (kShadowPageBytes >> page.shift) * sizeof(ShadowCell);
  return bytes;
}

void ShadowRegion::free_cells() {
  for (Page& page : pages_) {
    page.cells.reset();
    page.shift = 4;
  }
}

}  // namespace stitch::emulator
