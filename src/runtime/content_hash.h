// A 128-bit hash of contents, to tell weights files apart (not against forgery).
#ifndef STITCH_RUNTIME_CONTENT_HASH_H_
#define STITCH_RUNTIME_CONTENT_HASH_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/namespace.h"

namespace STITCH_RUNTIME_NAMESPACE {

// MurmurHash3_x64_128 (Austin Appleby, public domain, seed 0), fed in pieces of any length.
class ContentHash {
 public:
  void add(const void* data, std::size_t bytes);
  // 32 hexadecimal digits. Call once, after the last add.
  std::string finish();

 private:
  void mix_block(const unsigned char* block);

  std::uint64_t first_ = 0;
  std::uint64_t second_ = 0;
  std::uint64_t total_ = 0;
  unsigned char pending_[16] = {};  // the bytes of an incomplete block
  std::size_t pending_bytes_ = 0;
};

std::string content_hash(const void* data, std::size_t bytes);

}  // namespace STITCH_RUNTIME_NAMESPACE

#endif  // STITCH_RUNTIME_CONTENT_HASH_H_
