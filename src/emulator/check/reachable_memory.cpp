#include "emulator/check/reachable_memory.h"

#include <algorithm>
#include <cstring>

namespace stitch::emulator {

ReachableMemory::ReachableMemory(DeviceMemory& memory, const Launch& launch) {
  const KernelRecord& kernel = *launch.kernel;
  for (unsigned i = 0; i < kernel.argument_count; ++i)
    for (unsigned b = 0; b + sizeof(void*) <= kernel.argument_bytes[i]; b += sizeof(void*)) {
      const unsigned char* pointer = nullptr;
      std::memcpy(&pointer, static_cast<unsigned char*>(launch.arguments[i]) + b, sizeof pointer);
      add_target(memory, pointer);
    }
  merge();
}

void ReachableMemory::add_target(DeviceMemory& memory, const unsigned char* pointer) {
  Allocation* const allocation = memory.find_whole(pointer, 1);
  if (allocation == nullptr) return;
  const auto add = [&](const NamedRange& range) {
    const unsigned char* const begin = allocation->begin + range.offset;
    ranges_.push_back({begin, begin + range.bytes, allocation});
    if (range.role == RangeRole::kScratch) scratch_.push_back(ranges_.back());
  };
  const auto offset = static_cast<std::size_t>(pointer - allocation->begin);
  bool found = allocation->ranges.empty();
  if (found) add({"", 0, allocation->bytes, RangeRole::kUnknown});
  for (const NamedRange& range : allocation->ranges)
    if (range.offset == offset) add(range), found = true;
  if (found) return;
  for (const NamedRange& range : allocation->ranges)
    if (range.offset <= offset && offset < range.offset + range.bytes) add(range);
}

void ReachableMemory::merge() {
  const auto earlier = [](const ReachableRange& a, const ReachableRange& b) {
    return a.begin < b.begin;
  };
  for (std::vector<ReachableRange>* ranges : {&ranges_, &scratch_}) {
    std::sort(ranges->begin(), ranges->end(), earlier);
    std::vector<ReachableRange> apart;
    for (const ReachableRange& range : *ranges) {
      if (!apart.empty() && range.begin < apart.back().end)
        apart.back().end = std::max(apart.back().end, range.end);
      else
        apart.push_back(range);
    }
    *ranges = std::move(apart);
  }
}

const ReachableRange* ReachableMemory::search(const unsigned char* address, std::size_t bytes) {
  const auto after = std::upper_bound(
      ranges_.begin(), ranges_.end(), address,
      [](const unsigned char* a, const ReachableRange& range) { return a < range.begin; });
  if (after == ranges_.begin()) return nullptr;
  const auto found = after - 1;
  if (!holds(*found, address, bytes)) return nullptr;
  last_ = static_cast<std::size_t>(found - ranges_.begin());
  return &*found;
}

std::string ReachableMemory::describe(const DeviceMemory& memory,
                                      const unsigned char* address) const {
  constexpr std::ptrdiff_t kNear = 1 << 20;
  std::string text;
  const Allocation* const allocation = memory.find(address);
  text = allocation != nullptr ? allocation->describe(address)
                               : std::string("an address that is not device memory");
  for (const ReachableRange& range : ranges_) {
    const auto describe_edge = [&](std::ptrdiff_t distance, const char* where) {
      if (distance < 0 || distance > kNear) return;
      const std::string name = range.allocation->describe(range.begin);
      text += ", " + std::to_string(distance) + " bytes " + where + " " +
              name.substr(0, name.find('+'));
    };
    describe_edge(address - range.end, "behind the end of");
    if (address < range.begin) describe_edge(range.begin - address, "before the beginning of");
  }
  return text;
}

}  // namespace stitch::emulator
