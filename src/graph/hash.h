// A 64-bit hash of bytes, for keys and for the names of large constants; not cryptographic.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace stitch {

constexpr uint64_t kHashSeed = 0x9e3779b97f4a7c15ull;

// The finaliser of splitmix64, after an xor with what came before.
constexpr uint64_t hash_combine(uint64_t hash, uint64_t value) {
  uint64_t x = hash ^ (value + kHashSeed + (hash << 6));
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

inline uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t hash = kHashSeed) {
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, 8);
    hash = hash_combine(hash, word);
  }
  uint64_t tail = 0;
  for (; i < bytes.size(); ++i) tail = tail << 8 | static_cast<uint64_t>(bytes[i]);
  return hash_combine(hash_combine(hash, tail), bytes.size());
}

}  // namespace stitch
