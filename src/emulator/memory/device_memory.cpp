#include "emulator/memory/device_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace stitch::emulator {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kGuardBytes = 512;  // filled and checked; an unmapped page follows
constexpr unsigned char kGuardByte = 0xa5;

void* reserve(std::uint64_t bytes, int protection) {
  void* const begin =
      mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return begin == MAP_FAILED ? nullptr : begin;
}

// From an allocation's slot to its end: it begins kAlignment bytes into the slot, so that nobody
// relies on more alignment than promised.
std::size_t mapped_bytes(std::size_t bytes) {
  return (kAlignment + bytes + kGuardBytes + kPage - 1) / kPage * kPage;
}

}  // namespace

std::string Allocation::describe(const void* address) const {
  const auto offset =
      static_cast<std::ptrdiff_t>(static_cast<const unsigned char*>(address) - begin);
  const NamedRange* smallest = nullptr;
  for (const NamedRange& range : ranges) {
    const auto first = static_cast<std::ptrdiff_t>(range.offset);
    const auto last = first + static_cast<std::ptrdiff_t>(range.bytes);
    if (offset < first || offset >= last) continue;
    if (smallest == nullptr || range.bytes < smallest->bytes) smallest = &range;
  }
  if (smallest != nullptr)
    return smallest->name + "+" +
           std::to_string(offset - static_cast<std::ptrdiff_t>(smallest->offset)) + " (of " +
           std::to_string(smallest->bytes) + " bytes)";
  return "allocation " + std::to_string(number) + "+" + std::to_string(offset) + " (of " +
         std::to_string(bytes) + " bytes)";
}

DeviceMemory::DeviceMemory(std::uint64_t capacity) {
  // Address space may be limited: half as much will do for most programs.
  for (capacity_ = capacity / kSlotBytes * kSlotBytes; capacity_ >= kSlotBytes; capacity_ /= 2) {
    base_ = static_cast<unsigned char*>(reserve(capacity_, PROT_NONE));
    if (base_ != nullptr) break;
  }
  if (base_ == nullptr) throw std::bad_alloc();
  slots_ = static_cast<Allocation**>(
      reserve(capacity_ / kSlotBytes * sizeof(Allocation*), PROT_READ | PROT_WRITE));
  if (slots_ == nullptr) throw std::bad_alloc();
}

DeviceMemory::~DeviceMemory() {
  munmap(base_, capacity_);
  munmap(slots_, capacity_ / kSlotBytes * sizeof(Allocation*));
}

std::size_t DeviceMemory::find_gap(std::size_t slots) const {
  const std::size_t count = capacity_ / kSlotBytes;
  for (const std::size_t start : {next_slot_, std::size_t{0}}) {
    std::size_t run = 0;
    for (std::size_t s = start; s < count; ++s) {
      run = slots_[s] == nullptr ? run + 1 : 0;
      if (run == slots) return s + 1 - slots;
    }
  }
  return count;
}

Allocation* DeviceMemory::allocate(std::size_t bytes) {
  if (bytes == 0 || bytes > capacity_) return nullptr;
  const std::size_t mapped = mapped_bytes(bytes);
  const std::size_t slots = (mapped + kPage + kSlotBytes - 1) / kSlotBytes;
  const std::size_t first = find_gap(slots);
  if (first == capacity_ / kSlotBytes) return nullptr;
  unsigned char* const slot = base_ + first * kSlotBytes;
  if (mprotect(slot, mapped, PROT_READ | PROT_WRITE) != 0) return nullptr;
  auto allocation = std::unique_ptr<Allocation>(
      new Allocation{slot + kAlignment, bytes, ++allocated_count_, {}, ShadowRegion(bytes)});
  std::memset(slot, kGuardByte, kAlignment);
  std::memset(allocation->begin + bytes, kGuardByte, mapped - kAlignment - bytes);
  for (std::size_t s = first; s < first + slots; ++s) slots_[s] = allocation.get();
  next_slot_ = first + slots;
  used_bytes_ += bytes;
  Allocation* const result = allocation.get();
  allocations_[result->begin] = std::move(allocation);
  return result;
}

bool DeviceMemory::release(const void* begin, bool& intact) {
  const auto found = allocations_.find(static_cast<const unsigned char*>(begin));
  if (found == allocations_.end()) return false;
  const Allocation& allocation = *found->second;
  intact = guard_intact(allocation);
  unsigned char* const slot = allocation.begin - kAlignment;
  const std::size_t mapped = mapped_bytes(allocation.bytes);
  madvise(slot, mapped, MADV_DONTNEED);
  mprotect(slot, mapped, PROT_NONE);
  const std::size_t first = static_cast<std::size_t>(slot - base_) / kSlotBytes;
  const std::size_t slots = (mapped + kPage + kSlotBytes - 1) / kSlotBytes;
  for (std::size_t s = first; s < first + slots; ++s) slots_[s] = nullptr;
  used_bytes_ -= allocation.bytes;
  allocations_.erase(found);
  return true;
}

Allocation* DeviceMemory::find_whole(const void* address, std::size_t bytes) const {
  Allocation* const allocation = find(address);
  if (allocation == nullptr) return nullptr;
  const auto* const p = static_cast<const unsigned char*>(address);
  if (p < allocation->begin || p + bytes > allocation->begin + allocation->bytes) return nullptr;
  return allocation;
}

bool DeviceMemory::guard_intact(const Allocation& allocation) const {
  const unsigned char* const before = allocation.begin - kAlignment;
  const unsigned char* const after = allocation.begin + allocation.bytes;
  const unsigned char* const end = before + mapped_bytes(allocation.bytes);
  const auto whole = [](unsigned char byte) { return byte == kGuardByte; };
  return std::all_of(before, before + kAlignment, whole) && std::all_of(after, end, whole);
}

}  // namespace stitch::emulator
