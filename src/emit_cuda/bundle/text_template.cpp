#include "emit_cuda/bundle/text_template.h"

#include <algorithm>
#include <cctype>

#include "graph/error.h"

namespace stitch {
namespace {

bool is_key(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isupper(c) != 0 || c == '_';
  });
}

}  // namespace

std::string fill_template(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string filled;
  while (!text.empty()) {
    const std::size_t open = text.find('@');
    filled += text.substr(0, open);
    if (open == std::string_view::npos) break;
    text.remove_prefix(open + 1);
    const std::size_t close = text.find('@');
    const std::string_view key = text.substr(0, close);
    if (close == std::string_view::npos || !is_key(key)) {
      filled += '@';
      continue;
    }
    const auto value = values.find(std::string(key));
    if (value == values.end()) {
      throw InternalError("template has no value for '" + std::string(key) + "'");
    }
    filled += value->second;
    text.remove_prefix(close + 1);
  }
  return filled;
}

}  // namespace stitch
