// Quoted strings of the text form: JSON's escapes for what is not printable ASCII.
#pragma once
#include <string>
#include <string_view>

namespace stitch {

// "a\"b" with the quotes. Bytes above 127 stay as they are (UTF-8).
std::string quote(std::string_view text);
// Reads a quoted string at `position`, which moves behind it; empty `error` when all went well.
struct Unquoted {
  std::string text;
  std::string error;
};
Unquoted unquote(std::string_view text, size_t& position);

}  // namespace stitch
