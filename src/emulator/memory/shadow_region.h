// What is known about each byte of a range of memory: whether it holds a defined value, and by whom
// it was last written and read.
//
// Both are kept in pages of 4096 bytes that appear when they are first touched. A page begins with
// one cell per 16 bytes; a narrower access splits its cells.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace stitch::emulator {

inline constexpr std::size_t kShadowPageBytes = 4096;

// When, where in the code and by whom an element was accessed. Time is counted per block.
struct Stamp {
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  static constexpr std::uint64_t kMaxBarriers = (1u << 20) - 1;
  static constexpr std::uint64_t kMaxMeetings = (1u << 20) - 1;
  static constexpr std::uint64_t kMaxReleases = (1u << 14) - 1;

  std::uint32_t block = kNobody;
  std::uint32_t site : 30 = 0;  // offset of the code address in its image
  std::uint32_t atomic : 1 = 0;
  std::uint32_t shared : 1 = 0;  // of a read: other threads of the block have read as well
  std::uint64_t thread : 10 = 0;
  std::uint64_t barriers : 20 = 0;  // block barriers before it
  std::uint64_t meetings : 20 = 0;  // meetings of its warp since the last barrier
  std::uint64_t releases : 14 = 0;  // releases of its block before it

  bool valid() const { return block != kNobody; }
};
static_assert(sizeof(Stamp) == 16);

struct ShadowCell {
  Stamp write;
  Stamp read;        // the latest since the write
  Stamp other_read;  // the first by another block since the write
};

class ShadowRegion {
 public:
  // Covers [0, bytes); nothing is defined.
  explicit ShadowRegion(std::size_t bytes);
  ShadowRegion(ShadowRegion&&) noexcept;
  ShadowRegion& operator=(ShadowRegion&&) noexcept;
  ~ShadowRegion();

  // Forgets all accesses, in constant time: a new launch or a new block begins.
  void forget_accesses() { ++generation_; }
  void define(std::size_t offset, std::size_t bytes) {
    Page& page = pages_[offset / kShadowPageBytes];
    if (page.all_defined && offset % kShadowPageBytes + bytes <= kShadowPageBytes) return;
    if (page.defined && in_one_word(offset, bytes))
      (*page.defined)[offset % kShadowPageBytes / kWordBits] |= word_mask(offset, bytes);
    else
      define_range(offset, bytes);
  }
  void undefine(std::size_t offset, std::size_t bytes);
  // Undefines everything in constant time per page that exists.
  void undefine_all();
  bool is_defined(std::size_t offset, std::size_t bytes) const {
    const Page& page = pages_[offset / kShadowPageBytes];
    if (!in_one_word(offset, bytes)) return undefined_bytes(offset, bytes) == 0;
    if (page.all_defined) return true;
    return page.defined && (~(*page.defined)[offset % kShadowPageBytes / kWordBits] &
                            word_mask(offset, bytes)) == 0;
  }
  std::size_t undefined_bytes(std::size_t offset, std::size_t bytes) const;

  // The cells of an access; it must lie inside the region. Calls visit(ShadowCell&) for each.
  template <class Visit>
  void visit_cells(std::size_t offset, std::size_t bytes, Visit visit);

  // Bytes that the cells of this region occupy.
  std::size_t cell_bytes() const;
  void free_cells();

 private:
  static constexpr std::size_t kWordBits = 64;
  using Bits = std::array<std::uint64_t, kShadowPageBytes / kWordBits>;  // one bit per byte
  struct Page {
    std::unique_ptr<ShadowCell[]> cells;
    std::uint32_t generation = 0;  // of the cells
    std::uint8_t shift = 4;        // a cell covers 1 << shift bytes
    bool all_defined = false;
    std::unique_ptr<Bits> defined;  // used when not all_defined; null = nothing is defined
  };

  static bool in_one_word(std::size_t offset, std::size_t bytes) {
    return offset % kWordBits + bytes <= kWordBits;
  }
  // The bits of a range that lies in one word.
  static std::uint64_t word_mask(std::size_t offset, std::size_t bytes) {
    const std::uint64_t ones = bytes == kWordBits ? ~0ull : (1ull << bytes) - 1;
    return ones << offset % kWordBits;
  }
  void define_range(std::size_t offset, std::size_t bytes);

  // Cells of a page, valid and narrow enough for an access.
  ShadowCell* cells_for(Page& page, std::size_t offset, std::size_t bytes) {
    const std::size_t inside = (std::size_t{1} << page.shift) - 1;
    if (page.cells && page.generation == generation_ && ((offset | bytes) & inside) == 0)
      return page.cells.get();
    return make_cells(page, offset, bytes);
  }
  ShadowCell* make_cells(Page& page, std::size_t offset, std::size_t bytes);
  static void split(Page& page, std::uint8_t shift);

  std::vector<Page> pages_;
  std::uint32_t generation_ = 1;
};

template <class Visit>
void ShadowRegion::visit_cells(std::size_t offset, std::size_t bytes, Visit visit) {
  while (bytes > 0) {
    Page& page = pages_[offset / kShadowPageBytes];
    const std::size_t begin = offset % kShadowPageBytes;
    const std::size_t count = begin + bytes > kShadowPageBytes ? kShadowPageBytes - begin : bytes;
    ShadowCell* const cells = cells_for(page, begin, count);
    for (std::size_t c = begin >> page.shift; c <= (begin + count - 1) >> page.shift; ++c)
      visit(cells[c]);
    offset += count;
    bytes -= count;
  }
}

}  // namespace stitch::emulator
