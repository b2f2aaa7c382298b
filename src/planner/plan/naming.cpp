#include "planner/plan/naming.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <unordered_set>
#include <vector>

namespace stitch {
namespace {

constexpr size_t kLongestKernelName = 43;  // with "_twin2" below 50
constexpr size_t kLongestBufferName = 32;

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }

// "LayerNorm.1" -> "layer_norm_1".
std::string snake_case(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!is_letter_or_digit(c) || static_cast<unsigned char>(c) > 127) {
      if (!out.empty() && out.back() != '_') out += '_';
      continue;
    }
    const bool word_starts =
        is_upper(c) && i > 0 && is_letter_or_digit(text[i - 1]) && !is_upper(text[i - 1]);
    if (word_starts && !out.empty() && out.back() != '_') out += '_';
    out += lower(c);
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out;
}

std::vector<std::string_view> path_parts(std::string_view name) {
  std::vector<std::string_view> parts;
  while (!name.empty()) {
    const size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (!part.empty()) parts.push_back(part);
    if (slash == std::string_view::npos) break;
    name.remove_prefix(slash + 1);
  }
  return parts;
}

using Path = std::vector<std::string_view>;

// Leading parts that all paths share; the last part of a path names the node and never counts.
size_t common_scope(const std::vector<Path>& paths) {
  size_t common = paths.front().empty() ? 0 : paths.front().size() - 1;
  for (const Path& path : paths) {
    size_t same = 0;
    while (same < common && same + 1 < path.size() && path[same] == paths.front()[same]) ++same;
    common = same;
  }
  return common;
}

// Appends "_word" unless the name already ends in it or would grow too long.
bool append_word(std::string& name, const std::string& word) {
  if (word.empty() || name.ends_with("_" + word)) return true;
  if (name.size() + 1 + word.size() > kLongestKernelName) return false;
  name += "_" + word;
  return true;
}

}  // namespace

std::string kernel_name(int number, const Graph& graph, std::span<const SourceId> sources) {
  std::string name = fmt::format("k{:02}", number);
  if (sources.empty()) return name;
  std::vector<Path> paths;
  for (const SourceId source : sources) paths.push_back(path_parts(graph.source(source).name));
  const size_t scope = common_scope(paths);
  // The innermost two parts of the scope say where in the model the kernel stands.
  for (size_t i = scope - std::min<size_t>(scope, 2); i < scope; ++i) {
    append_word(name, snake_case(paths.front()[i]));
  }
  std::unordered_set<std::string> used;
  for (const SourceId source : sources) {
    const std::string word = snake_case(graph.source(source).op_type);
    if (!used.insert(word).second) continue;
    if (!append_word(name, word)) break;
  }
  return name;
}

std::string copy_kernel_name(int number, std::string_view value_name) {
  std::string name = fmt::format("k{:02}_copy", number);
  const Path parts = path_parts(value_name);
  const std::string word = parts.empty() ? "" : snake_case(parts.back());
  if (!word.empty()) append_word(name, "of_" + word);
  return name;
}

std::string BufferNames::take(std::string_view value_name) {
  const Path parts = path_parts(value_name);
  std::string base = parts.empty() ? "" : snake_case(parts.back());
  if (base.size() > kLongestBufferName) base.resize(kLongestBufferName);
  while (!base.empty() && base.back() == '_') base.pop_back();
  if (base.empty()) base = "value";
  if (std::isdigit(static_cast<unsigned char>(base.front())) != 0) base = "value_" + base;
  if (next_.emplace(base, 1).second) return base;
  std::string name;
  int number = next_.at(base);
  do {
    name = fmt::format("{}_{}", base, number++);
  } while (!next_.emplace(name, 1).second);
  next_.at(base) = number;
  return name;
}

}  // namespace stitch
