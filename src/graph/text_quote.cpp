#include "graph/text_quote.h"

#include <fmt/format.h>

namespace stitch {

std::string quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

Unquoted unquote(std::string_view text, size_t& position) {
  Unquoted result;
  if (position >= text.size() || text[position] != '"') {
    result.error = "a quoted string";
    return result;
  }
  ++position;
  while (position < text.size() && text[position] != '"' && text[position] != '\n') {
    char c = text[position++];
    if (c == '\\' && position < text.size()) {
      c = text[position++];
      if (c == 'n') {
        c = '\n';
      } else if (c == 't') {
        c = '\t';
      } else if (c == 'x') {
        const int high = position < text.size() ? hex_digit(text[position]) : -1;
        const int low = position + 1 < text.size() ? hex_digit(text[position + 1]) : -1;
        if (high < 0 || low < 0) {
          result.error = "two hexadecimal digits";
          return result;
        }
        c = static_cast<char>(high * 16 + low);
        position += 2;
      }
    }
    result.text += c;
  }
  if (position >= text.size() || text[position] != '"') {
    result.error = "the end of the string";
    return result;
  }
  ++position;
  return result;
}

}  // namespace stitch
