#include "emit_cuda/device_files.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace stitch {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Identifiers that begin with one of the library's prefixes, each once.
std::set<std::string, std::less<>> library_names(std::string_view text) {
  std::set<std::string, std::less<>> names;
  for (size_t i = 0; i < text.size();) {
    if (!is_word(text[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string_view word = text.substr(i, end - i);
    if (word.starts_with("stitch_") || word.starts_with("Stitch")) names.emplace(word);
    i = end;
  }
  return names;
}

// What a device file defines: a word in front of "(" on a line that begins with STITCH_DEVICE, or
// behind "struct".
std::set<std::string, std::less<>> definitions(std::string_view text) {
  std::set<std::string, std::less<>> names;
  for (size_t start = 0; start < text.size();) {
    size_t end = text.find('\n', start);
    if (end == std::string_view::npos) end = text.size();
    std::string_view line = text.substr(start, end - start);
    start = end + 1;
    if (line.starts_with("struct "))
      line.remove_prefix(7);
    else if (line.starts_with("struct alignas(8) "))
      line.remove_prefix(18);
    else if (!line.starts_with("STITCH_DEVICE"))
      continue;
    const size_t open = line.find('(');
    const std::string_view head = line.substr(0, open);
    const auto found = library_names(head);
    names.insert(found.begin(), found.end());
  }
  return names;
}

std::vector<std::string> includes_of(std::string_view text) {
  constexpr std::string_view kInclude = "#include \"";
  std::vector<std::string> files;
  for (size_t at = text.find(kInclude); at != std::string_view::npos;
       at = text.find(kInclude, at + 1)) {
    const size_t begin = at + kInclude.size();
    files.emplace_back(text.substr(begin, text.find('"', begin) - begin));
  }
  return files;
}

}  // namespace

std::vector<std::string> device_files_of(std::string_view kernel_text) {
  static const auto kDefinitions = [] {
    std::vector<std::set<std::string, std::less<>>> all;
    for (const DeviceFile& file : device_files()) all.push_back(definitions(file.text));
    return all;
  }();
  const auto used = library_names(kernel_text);
  std::set<std::string> files;
  for (size_t f = 0; f < kDefinitions.size(); ++f) {
    if (std::any_of(used.begin(), used.end(),
                    [&](const std::string& name) { return kDefinitions[f].contains(name); })) {
      files.insert(std::string(device_files()[f].name));
    }
  }
  std::set<std::string> needed = files;
  for (const std::string& file : files) {
    for (const std::string& inner : with_included({file})) {
      if (inner != file && inner == "base.cuh") needed.erase(inner);
    }
  }
  if (needed.empty()) needed.insert("base.cuh");
  return {needed.begin(), needed.end()};
}

std::vector<std::string> with_included(const std::vector<std::string>& files) {
  std::set<std::string> all;
  std::vector<std::string> open = files;
  while (!open.empty()) {
    const std::string name = open.back();
    open.pop_back();
    if (!all.insert(name).second) continue;
    for (const DeviceFile& file : device_files()) {
      if (file.name != name) continue;
      for (std::string& inner : includes_of(file.text)) open.push_back(std::move(inner));
    }
  }
  return {all.begin(), all.end()};
}

}  // namespace stitch
