#include "runtime/content_hash.h"

#include <algorithm>
#include <cstring>

namespace STITCH_RUNTIME_NAMESPACE {
namespace {

constexpr std::uint64_t kFirstFactor = 0x87c37b91114253d5;
constexpr std::uint64_t kSecondFactor = 0x4cf5ad432745937f;

std::uint64_t rotate_left(std::uint64_t value, int bits) {
  return (value << bits) | (value >> (64 - bits));
}

std::uint64_t scramble_first(std::uint64_t value) {
  return rotate_left(value * kFirstFactor, 31) * kSecondFactor;
}

std::uint64_t scramble_second(std::uint64_t value) {
  return rotate_left(value * kSecondFactor, 33) * kFirstFactor;
}

std::uint64_t avalanche(std::uint64_t value) {
  value = (value ^ (value >> 33)) * 0xff51afd7ed558ccd;
  value = (value ^ (value >> 33)) * 0xc4ceb9fe1a85ec53;
  return value ^ (value >> 33);
}

}  // namespace

void ContentHash::add(const void* data, std::size_t bytes) {
  const auto* next = static_cast<const unsigned char*>(data);
  total_ += bytes;
  if (pending_bytes_ > 0) {
    const std::size_t taken = std::min(bytes, sizeof(pending_) - pending_bytes_);
    std::memcpy(pending_ + pending_bytes_, next, taken);
    pending_bytes_ += taken;
    next += taken;
    bytes -= taken;
    if (pending_bytes_ < sizeof(pending_)) return;
    mix_block(pending_);
    pending_bytes_ = 0;
  }
  for (; bytes >= sizeof(pending_); bytes -= sizeof(pending_), next += sizeof(pending_)) {
    mix_block(next);
  }
  if (bytes > 0) std::memcpy(pending_, next, bytes);
  pending_bytes_ = bytes;
}

std::string ContentHash::finish() {
  std::uint64_t words[2] = {};
  std::memcpy(words, pending_, pending_bytes_);
  second_ ^= scramble_second(words[1]);
  first_ ^= scramble_first(words[0]);
  first_ ^= total_;
  second_ ^= total_;
  first_ += second_;
  second_ += first_;
  first_ = avalanche(first_);
  second_ = avalanche(second_);
  first_ += second_;
  second_ += first_;
  std::string text;
  for (const std::uint64_t word : {first_, second_}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[(word >> shift) & 15];
  }
  return text;
}

void ContentHash::mix_block(const unsigned char* block) {
  std::uint64_t words[2];
  std::memcpy(words, block, sizeof(words));
  first_ ^= scramble_first(words[0]);
  first_ = (rotate_left(first_, 27) + second_) * 5 + 0x52dce729;
  second_ ^= scramble_second(words[1]);
  second_ = (rotate_left(second_, 31) + first_) * 5 + 0x38495ab5;
}

std::string content_hash(const void* data, std::size_t bytes) {
  ContentHash hash;
  hash.add(data, bytes);
  return hash.finish();
}

}  // namespace STITCH_RUNTIME_NAMESPACE
