#include "emit_cuda/unused_variables.h"

#include <cctype>
#include <string_view>
#include <vector>

namespace stitch {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

size_t indent_of(std::string_view line) {
  const size_t first = line.find_first_not_of(' ');
  return first == std::string_view::npos ? 0 : first;
}

// The variable that a whole line declares as const int, long long or bool; empty for other lines.
std::string_view declared(std::string_view line) {
  line.remove_prefix(indent_of(line));
  bool found = false;
  for (const std::string_view type : {"const int ", "const long long ", "const bool "}) {
    if (!line.starts_with(type)) continue;
    line.remove_prefix(type.size());
    found = true;
    break;
  }
  if (!found || !line.ends_with(';')) return {};
  size_t end = 0;
  while (end < line.size() && is_word(line[end])) ++end;
  return line.substr(end).starts_with(" = ") ? line.substr(0, end) : std::string_view();
}

bool is_used_behind(const std::vector<std::string_view>& lines, size_t declaration,
                    std::string_view variable) {
  const size_t indent = indent_of(lines[declaration]);
  for (size_t i = declaration + 1; i < lines.size(); ++i) {
    if (lines[i].empty() || lines[i].starts_with('#')) continue;
    if (indent_of(lines[i]) < indent) return false;  // the block has ended
    if (mentions(lines[i], variable)) return true;
  }
  return false;
}

}  // namespace

bool mentions(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) {
      return true;
    }
  }
  return false;
}

std::string without_unused_variables(const std::string& body) {
  std::string text = body;
  for (bool changed = true; changed;) {
    changed = false;
    std::string kept;
    const std::vector<std::string_view> lines = lines_of(text);
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string_view variable = declared(lines[i]);
      if (!variable.empty() && !is_used_behind(lines, i, variable)) {
        changed = true;
        continue;
      }
      kept.append(lines[i]).push_back('\n');
    }
    text = std::move(kept);
  }
  return text;
}

}  // namespace stitch
