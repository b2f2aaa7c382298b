#include "emit_cuda/code_writer.h"

#include <algorithm>

namespace stitch {
namespace {

constexpr int kIndent = 2;
constexpr int kContinuation = 4;

// Where `text` may be broken so that the first part has at most `room` characters: behind a comma
// or an opening of a choice, in front of an operator; npos when there is no such place. Breaks at
// the least nesting of parentheses.
size_t break_at(std::string_view text, size_t room) {
  size_t best = std::string_view::npos;
  int best_depth = 1000;
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size() && i <= room; ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    const bool tight = i > 0 && text[i - 1] != ' ';  // of a template, not a comparison
    if (c == '(' || c == '[' || c == '{' || (c == '<' && tight)) ++depth;
    if (c == ')' || c == ']' || c == '}' || (c == '>' && tight && text[i - 1] != '-')) --depth;
    if (c != ' ' || i == 0) continue;
    const char before = text[i - 1];
    const std::string_view rest = text.substr(i + 1);
    const bool behind = before == ',' || before == '=' || before == ';' ||
                        (before == '&' && i > 1 && text[i - 2] == '&') ||
                        (before == '|' && i > 1 && text[i - 2] == '|') || before == '+' ||
                        (before == '-' && i > 1 && text[i - 2] == ' ') || before == '*';
    const bool in_front = rest.substr(0, 2) == "? " || rest.substr(0, 2) == ": ";
    if ((behind || in_front) && depth <= best_depth) {
      best = i;
      best_depth = depth;
    }
  }
  return best;
}

}  // namespace

std::string comment_text(std::string_view text) {
  std::string safe(text);
  for (char& c : safe) {
    const auto code = static_cast<unsigned char>(c);
    if (code < ' ' || code == 0x7f) c = ' ';
    if (c == '\\') c = '/';
  }
  return safe;
}

void CodeWriter::line(std::string_view text) {
  size_t indent = static_cast<size_t>(depth_ * kIndent);
  bool first = true;
  while (true) {
    const size_t room = kColumns - indent;
    size_t cut = text.size() <= room ? std::string_view::npos : break_at(text, room);
    text_.append(indent, ' ');
    text_.append(text.substr(0, cut));
    text_.push_back('\n');
    if (cut == std::string_view::npos) return;
    text.remove_prefix(cut + 1);
    if (first) indent += kContinuation;
    first = false;
  }
}

void CodeWriter::comment(std::string_view any_text) {
  const std::string safe = comment_text(any_text);
  std::string_view text = safe;
  const size_t indent = static_cast<size_t>(depth_ * kIndent);
  while (true) {
    const size_t room = kColumns - indent - 3;
    size_t cut = text.size();
    if (text.size() > room) {
      const size_t space = text.rfind(' ', room);
      cut = space == std::string_view::npos || space == 0 ? text.find(' ', room) : space;
      cut = std::min(cut, text.size());
    }
    text_.append(indent, ' ');
    text_.append("// ").append(text.substr(0, cut)).push_back('\n');
    if (cut == text.size()) return;
    text.remove_prefix(cut + 1);
  }
}

void CodeWriter::blank() {
  if (!text_.empty() && !text_.ends_with("\n\n")) text_.push_back('\n');
}

void CodeWriter::pragma(std::string_view text) { text_.append("#pragma ").append(text) += '\n'; }

CodeWriter::Block CodeWriter::block(std::string_view head, std::string_view close) {
  line(head.empty() ? "{" : std::string(head) + " {");
  ++depth_;
  return Block(*this, close);
}

CodeWriter::Block::~Block() {
  --writer_.depth_;
  writer_.line(close_);
}

}  // namespace stitch
