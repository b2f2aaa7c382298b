#include "runtime/content_hash.h"

#include <string>

#include "support/catch.h"

namespace stitch {

TEST_CASE("the hash is MurmurHash3_x64_128") {
  // Published test values of the reference implementation, seed 0.
  const auto hash = [](const std::string& text) {
    return runtime::content_hash(text.data(), text.size());
  };
  CHECK(hash("") == "00000000000000000000000000000000");
  CHECK(hash("hello") == "cbd8a7b341bd9b025b1e906a48ae1d19");
  CHECK(hash("The quick brown fox jumps over the lazy dog") == "e34bbc7bbc071b6c7a433ca9c49a9347");
}

TEST_CASE("pieces of any length give the hash of the whole") {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>(i * 31);
  for (const std::size_t piece : {1U, 7U, 15U, 16U, 17U, 100U}) {
    runtime::ContentHash hash;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      hash.add(text.data() + at, std::min(piece, text.size() - at));
    }
    CHECK(hash.finish() == runtime::content_hash(text.data(), text.size()));
  }
}

}  // namespace stitch
