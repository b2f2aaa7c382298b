#include "graph/text_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "graph/text_quote.h"

namespace stitch {
namespace {

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_source_character(char c) {
  return is_word_character(c) || (c != 0 && std::strchr("./:-", c) != nullptr);
}

}  // namespace

void TextReader::fail(Place place, const std::string& message) const {
  const std::string_view before = text_.substr(0, place.position);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  throw TextError(
      fmt::format("{} {}:{}: {}", what_, line, place.position - line_begin + 1, message));
}

void TextReader::fail_expecting(const std::string& what) {
  const Place at = place();
  std::string found = "the end";
  if (at.position < text_.size()) {
    size_t end = at.position + 1;
    while (end < text_.size() && is_word_character(text_[at.position]) &&
           is_word_character(text_[end])) {
      ++end;
    }
    found = fmt::format("'{}'", text_.substr(at.position, end - at.position));
  }
  fail(at, fmt::format("expected {}, found {}", what, found));
}

void TextReader::skip_blanks() {
  while (position_ < text_.size()) {
    if (std::isspace(static_cast<unsigned char>(text_[position_])) != 0) {
      ++position_;
    } else if (text_[position_] == '#') {
      while (position_ < text_.size() && text_[position_] != '\n') ++position_;
    } else {
      return;
    }
  }
}

TextReader::Place TextReader::place() {
  skip_blanks();
  return {position_};
}

char TextReader::peek() {
  skip_blanks();
  return position_ < text_.size() ? text_[position_] : '\0';
}

bool TextReader::accept(char c) {
  if (peek() != c) return false;
  ++position_;
  return true;
}

bool TextReader::accept_on_line(char c) {
  while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  if (position_ >= text_.size() || text_[position_] != c) return false;
  ++position_;
  return true;
}

void TextReader::expect(char c) {
  if (!accept(c)) fail_expecting(fmt::format("'{}'", c));
}

void TextReader::expect_end() {
  if (peek() != '\0') fail_expecting("the end");
}

std::string TextReader::read_plain_word() {
  skip_blanks();
  const size_t begin = position_;
  while (position_ < text_.size() && is_word_character(text_[position_])) ++position_;
  return std::string(text_.substr(begin, position_ - begin));
}

bool TextReader::accept_word(std::string_view word) {
  skip_blanks();
  const size_t begin = position_;
  if (read_plain_word() == word) return true;
  position_ = begin;
  return false;
}

void TextReader::expect_word(std::string_view word) {
  if (!accept_word(word)) fail_expecting(fmt::format("\"{}\"", word));
}

std::string TextReader::read_word(const char* what) {
  std::string word = read_plain_word();
  if (word.empty()) fail_expecting(what);
  return word;
}

std::string TextReader::read_string() {
  skip_blanks();
  Unquoted result = unquote(text_, position_);
  if (!result.error.empty()) fail_expecting(result.error);
  return std::move(result.text);
}

std::string TextReader::read_value_id() {
  expect('%');
  return read_word("the id of a value");
}

int64_t TextReader::read_integer() {
  const Place at = place();
  const bool negative = accept('-');
  const std::string digits = read_word("an integer");
  const std::string text = (negative ? "-" : "") + digits;
  char* end = nullptr;
  errno = 0;
  int64_t value = std::strtoll(text.c_str(), &end, 10);
  if (errno == ERANGE && !negative) {  // the upper half of u64
    errno = 0;
    value = static_cast<int64_t>(std::strtoull(text.c_str(), &end, 10));
  }
  if (*end != '\0') fail(at, fmt::format("expected an integer, found '{}'", text));
  if (errno == ERANGE) fail(at, fmt::format("{} does not fit into 64 bits", text));
  return value;
}

DType TextReader::read_dtype() {
  const Place at = place();
  const std::string word = read_word("a dtype");
  const auto dtype = parse_dtype(word);
  if (!dtype) fail(at, fmt::format("\"{}\" is not a dtype", word));
  return *dtype;
}

Dim TextReader::read_dim() {
  const Place at = place();
  int depth = 0;
  bool quoted = false;
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (quoted) {
      if (c == '\\') ++position_;
      if (c == '\'') quoted = false;
    } else if (c == '\'') {
      quoted = true;
    } else if (c == '(') {
      ++depth;
    } else if (c == ')') {
      --depth;
    } else if (c == '\n' || (depth == 0 && (c == ',' || c == ']' || c == ' '))) {
      break;
    }
    ++position_;
  }
  position_ = std::min(position_, text_.size());
  try {
    return parse_dim(text_.substr(at.position, position_ - at.position));
  } catch (const ModelError& error) {
    fail(at, error.what());
  }
}

Tensor TextReader::read_tensor() {
  const Place at = place();
  const DType dtype = read_dtype();
  std::vector<int64_t> extents;
  expect('[');
  if (!accept(']')) {
    do extents.push_back(read_integer());
    while (accept(','));
    expect(']');
  }
  for (const int64_t extent : extents) {
    if (extent < 0) fail(at, fmt::format("{} is not an extent", extent));
  }
  Tensor tensor(dtype, extents);
  if (accept_word("hash")) {
    fail(at, "only the hash of this constant was printed, so the text cannot be read back");
  }
  if (accept_word("splat")) {
    Tensor element(dtype, {1});
    read_element(element, 0);
    const std::span<std::byte> bytes = tensor.mutable_bytes();
    for (size_t i = 0; i < bytes.size(); i += element.bytes().size()) {
      std::memcpy(bytes.data() + i, element.bytes().data(), element.bytes().size());
    }
    return tensor;
  }
  if (extents.empty()) {
    read_element(tensor, 0);
    return tensor;
  }
  expect('[');
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    if (i > 0) expect(',');
    read_element(tensor, i);
  }
  expect(']');
  return tensor;
}

void TextReader::read_element(Tensor& tensor, int64_t index) {
  if (!is_float(tensor.dtype())) {
    tensor.set_integer(index, read_integer());
    return;
  }
  const Place at = place();
  while (position_ < text_.size() &&
         (is_word_character(text_[position_]) || std::strchr("+-.", text_[position_]) != nullptr)) {
    ++position_;
  }
  const std::string word(text_.substr(at.position, position_ - at.position));
  char* end = nullptr;
  // A decimal is rounded once, to the type of the tensor (16-bit floats print as exact f32).
  const double value = tensor.dtype() == DType::kF64
                           ? std::strtod(word.c_str(), &end)
                           : static_cast<double>(std::strtof(word.c_str(), &end));
  if (word.empty() || *end != '\0') {
    fail(at, fmt::format("expected a number, found '{}'", word));
  }
  tensor.set_real(index, value);
}

std::vector<SourceNode> TextReader::read_sources() {
  std::vector<SourceNode> sources;
  size_t at = position_;
  const auto skip = [&](char c) {
    if (at >= text_.size() || text_[at] != c) return false;
    ++at;
    return true;
  };
  const auto word = [&](std::string& into) {
    if (at < text_.size() && text_[at] == '"') {
      Unquoted result = unquote(text_, at);
      into = std::move(result.text);
      return result.error.empty();
    }
    const size_t begin = at;
    while (at < text_.size() && is_source_character(text_[at])) ++at;
    into = std::string(text_.substr(begin, at - begin));
    return !into.empty();
  };
  while (skip(' ')) {
  }
  if (!skip('#')) return {};
  do {
    SourceNode source;
    if (!skip(' ') || !word(source.name) || !skip(' ') || !skip('(') || !word(source.op_type) ||
        !skip(')')) {
      return {};
    }
    sources.push_back(std::move(source));
  } while (skip(','));
  if (at < text_.size() && text_[at] != '\n') return {};
  position_ = at;
  return sources;
}

}  // namespace stitch
