#include "emulator/device/async_copies.h"

namespace stitch::emulator {
namespace {

constexpr std::uintptr_t kWord = 4;  // the smallest copy

std::uintptr_t word_of(const unsigned char* address) {
  return reinterpret_cast<std::uintptr_t>(address) / kWord;
}

}  // namespace

void AsyncCopies::begin(std::uint64_t thread, const AsyncCopy& copy) {
  queues_[thread].open.push_back(copy);
  mark(copy, 1);
}

void AsyncCopies::commit(std::uint64_t thread) {
  Queue& queue = queues_[thread];
  queue.groups.push_back(std::move(queue.open));
  queue.open.clear();
}

std::vector<AsyncCopy> AsyncCopies::finish(std::uint64_t thread, unsigned pending) {
  std::vector<AsyncCopy> landing;
  const auto found = queues_.find(thread);
  if (found == queues_.end()) return landing;
  Queue& queue = found->second;
  while (queue.groups.size() > pending) {
    for (const AsyncCopy& copy : queue.groups.front()) {
      mark(copy, -1);
      landing.push_back(copy);
    }
    queue.groups.pop_front();
  }
  if (queue.groups.empty() && queue.open.empty()) queues_.erase(found);
  return landing;
}

bool AsyncCopies::find_word(const unsigned char* address, std::uint32_t bytes) const {
  for (std::uintptr_t w = word_of(address); w <= word_of(address + bytes - 1); ++w)
    if (words_.count(w) != 0) return true;
  return false;
}

bool AsyncCopies::forget(std::uint64_t thread) {
  const auto found = queues_.find(thread);
  if (found == queues_.end()) return false;
  bool any = false;
  const auto drop = [&](const std::vector<AsyncCopy>& copies) {
    for (const AsyncCopy& copy : copies) {
      mark(copy, -1);
      any = true;
    }
  };
  drop(found->second.open);
  for (const auto& group : found->second.groups) drop(group);
  queues_.erase(found);
  return any;
}

void AsyncCopies::mark(const AsyncCopy& copy, int difference) {
  for (std::uintptr_t w = word_of(copy.to); w <= word_of(copy.to + copy.bytes - 1); ++w)
    if ((words_[w] += difference) == 0) words_.erase(w);
}

}  // namespace stitch::emulator
