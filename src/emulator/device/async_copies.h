// Asynchronous copies from global to shared memory that have begun and not yet landed. Until then
// their destination holds no defined value.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

namespace stitch::emulator {

struct AsyncCopy {
  unsigned char* to = nullptr;
  std::uint32_t bytes = 0;
  const void* site = nullptr;
  std::array<unsigned char, 16> data{};
};

class AsyncCopies {
 public:
  void begin(std::uint64_t thread, const AsyncCopy& copy);
  void commit(std::uint64_t thread);
  // The copies that have to land so that at most `pending` groups of the thread stay open.
  std::vector<AsyncCopy> finish(std::uint64_t thread, unsigned pending);
  // Whether any byte of a range is the destination of an open copy.
  bool in_flight(const unsigned char* address, std::uint32_t bytes) const {
    return !words_.empty() && find_word(address, bytes);
  }
  // The thread exits: forgets its copies and says whether there were any.
  bool forget(std::uint64_t thread);
  bool any() const { return !queues_.empty(); }

 private:
  struct Queue {
    std::vector<AsyncCopy> open;
    std::deque<std::vector<AsyncCopy>> groups;
  };
  bool find_word(const unsigned char* address, std::uint32_t bytes) const;
  void mark(const AsyncCopy& copy, int difference);

  std::unordered_map<std::uint64_t, Queue> queues_;
  std::unordered_map<std::uintptr_t, int> words_;  // open copies per 4 bytes
};

}  // namespace stitch::emulator
