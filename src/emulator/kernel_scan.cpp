#include "emulator/kernel_scan.h"

#include <cctype>
#include <string_view>

#include "graph/error.h"

namespace stitch {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Comments become blanks, so that offsets and line numbers stay.
std::string without_comments(std::string_view text) {
  std::string result(text);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] == '"') {
      for (++i; i < result.size() && result[i] != '"'; ++i)
        if (result[i] == '\\') ++i;
    } else if (result.compare(i, 2, "//") == 0) {
      for (; i < result.size() && result[i] != '\n'; ++i) result[i] = ' ';
    } else if (result.compare(i, 2, "/*") == 0) {
      const std::size_t end = result.find("*/", i + 2);
      const std::size_t stop = end == std::string::npos ? result.size() : end + 2;
      for (; i < stop; ++i)
        if (result[i] != '\n') result[i] = ' ';
      --i;
    }
  }
  return result;
}

class Cursor {
 public:
  Cursor(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  // The next word or single character; empty at the end.
  std::string_view next() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    const std::size_t begin = at_;
    if (at_ < text_.size() && !is_word(text_[at_])) return text_.substr(at_++, 1);
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  // The text between the parenthesis that follows and its partner.
  std::string parenthesised() {
    if (next() != "(") return "";
    const std::size_t begin = at_;
    for (int depth = 1; at_ < text_.size(); ++at_) {
      if (text_[at_] == '(') ++depth;
      if (text_[at_] == ')' && --depth == 0) break;
    }
    const std::size_t end = at_;
    if (at_ < text_.size()) ++at_;
    return std::string(text_.substr(begin, end - begin));
  }

 private:
  std::string_view text_;
  std::size_t at_;
};

bool follows_extern_c(std::string_view text, std::size_t at) {
  static constexpr std::string_view kMark = "extern\"C\"";
  std::string before;
  while (at > 0 && before.size() < kMark.size()) {
    const char c = text[--at];
    if (std::isspace(static_cast<unsigned char>(c)) == 0) before.insert(before.begin(), c);
  }
  return before == kMark;
}

KernelSignature parse_signature(Cursor cursor, const std::string& unit) {
  KernelSignature signature;
  for (;;) {
    const std::string_view word = cursor.next();
    if (word == "void") continue;
    if (word == "__launch_bounds__") {
      signature.launch_bounds = cursor.parenthesised();
    } else if (word == "__cluster_dims__") {
      signature.cluster_dims = cursor.parenthesised();
    } else if (!word.empty() && is_word(word[0])) {
      signature.name = word;
      if (cursor.next() == "(") return signature;
      break;
    } else {
      break;
    }
  }
  throw InternalError("kernel unit " + unit +
                      ": cannot read the signature of a __global__ function" +
                      (signature.name.empty() ? "" : " near '" + signature.name + "'"));
}

}  // namespace

std::vector<KernelSignature> scan_kernels(const SourceText& unit) {
  static constexpr std::string_view kGlobal = "__global__";
  const std::string text = without_comments(unit.text);
  std::vector<KernelSignature> kernels;
  for (std::size_t at = text.find(kGlobal); at != std::string::npos;
       at = text.find(kGlobal, at + 1)) {
    if (!follows_extern_c(text, at))
      throw InternalError("kernel unit " + unit.name +
                          ": a __global__ function is not extern \"C\"");
    // Attributes may stand on either side of __global__ and void.
    kernels.push_back(parse_signature(Cursor(text, at + kGlobal.size()), unit.name));
  }
  return kernels;
}

}  // namespace stitch
