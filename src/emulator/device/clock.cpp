#include "emulator/device/clock.h"

#include <algorithm>

namespace stitch::emulator {

ClockRef merged(const ClockRef& a, const ClockRef& b) {
  if (!a || a == b) return b;
  if (!b) return a;
  const bool a_longer = a->size() >= b->size();
  const Clock& longer = a_longer ? *a : *b;
  const Clock& shorter = a_longer ? *b : *a;
  auto result = std::make_shared<Clock>(longer);
  for (std::size_t i = 0; i < shorter.size(); ++i)
    (*result)[i] = std::max((*result)[i], shorter[i]);
  return result;
}

ClockRef with_release(const ClockRef& clock, std::uint32_t block, std::uint32_t releases) {
  auto result = clock ? std::make_shared<Clock>(*clock) : std::make_shared<Clock>();
  if (result->size() <= block) result->resize(block + 1);
  (*result)[block] = releases;
  return result;
}

}  // namespace stitch::emulator
