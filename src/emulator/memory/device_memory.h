// The memory of the emulated device: allocations with their exact sizes, apart from each other, and
// optionally the named ranges that a program keeps inside them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "emulator/memory/shadow_region.h"

namespace stitch::emulator {

enum class RangeRole : std::uint8_t { kUnknown, kInput, kOutput, kScratch, kWeights, kCounters };

// Part of an allocation: once an allocation has ranges, accesses must stay inside one of them.
struct NamedRange {
  std::string name;
  std::size_t offset = 0;
  std::size_t bytes = 0;
  RangeRole role = RangeRole::kUnknown;
};

struct Allocation {
  unsigned char* begin = nullptr;
  std::size_t bytes = 0;
  std::uint64_t number = 0;  // order of allocation, used where it has no name
  std::vector<NamedRange> ranges;
  ShadowRegion shadow;

  // How messages call the place: "scores+64" or "allocation 3 (4096 bytes)+64".
  std::string describe(const void* address) const;
};

class DeviceMemory {
 public:
  // Reserves address space; pages are committed as they are used. Throws std::bad_alloc.
  explicit DeviceMemory(std::uint64_t capacity);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Null when the memory is full. Aligned to 256 bytes and no more, as cuMemAlloc promises.
  Allocation* allocate(std::size_t bytes);
  // False when `begin` is not an allocation's first byte. `guard_intact` says whether the bytes
  // behind the allocation are as they were.
  bool release(const void* begin, bool& guard_intact);

  // The allocation whose surroundings hold the address (it may lie in the guard); null elsewhere.
  Allocation* find(const void* address) const {
    const auto offset =
        static_cast<std::uint64_t>(static_cast<const unsigned char*>(address) - base_);
    return offset < capacity_ ? slots_[offset / kSlotBytes] : nullptr;
  }
  // The allocation that holds all of a range; null when there is none.
  Allocation* find_whole(const void* address, std::size_t bytes) const;
  bool guard_intact(const Allocation& allocation) const;

  const std::map<const unsigned char*, std::unique_ptr<Allocation>>& allocations() const {
    return allocations_;
  }
  std::uint64_t used_bytes() const { return used_bytes_; }
  std::uint64_t capacity() const { return capacity_; }

 private:
  static constexpr std::size_t kSlotBytes = 64 << 10;  // an allocation takes whole slots

  std::size_t find_gap(std::size_t slots) const;

  unsigned char* base_ = nullptr;
  std::uint64_t capacity_ = 0;
  Allocation** slots_ = nullptr;  // one per kSlotBytes; null where nothing is allocated
  std::map<const unsigned char*, std::unique_ptr<Allocation>> allocations_;
  std::size_t next_slot_ = 0;  // where the search for a gap begins
  std::uint64_t used_bytes_ = 0;
  std::uint64_t allocated_count_ = 0;
};

}  // namespace stitch::emulator
