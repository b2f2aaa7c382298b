#include "repository/source_tree.h"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace stitch::repository {
namespace {

namespace fs = std::filesystem;

bool belongs_to_project(const fs::path& top_level) {
  const std::string name = top_level.filename().string();
  if (name.starts_with("build")) return false;
  return !name.starts_with('.') || name == ".ci" || name == ".clang-format" ||
         name == ".clang-tidy";
}

std::string read_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace

std::string_view SourceFile::name() const {
  return std::string_view(path).substr(path.rfind('/') + 1);
}

std::string_view SourceFile::extension() const {
  const std::size_t dot = name().rfind('.');
  return dot == std::string_view::npos ? std::string_view() : name().substr(dot);
}

bool SourceFile::is_under(std::string_view folder) const {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

SourceFile make_source_file(std::string path, std::string_view text) {
  SourceFile file{std::move(path), {}};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    file.lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return file;
}

SourceTree read_source_tree(const fs::path& root) {
  SourceTree tree;
  const auto add = [&](const fs::path& path) {
    const std::string text = read_file(path);
    if (text.find('\0') != std::string::npos) return;
    tree.push_back(make_source_file(path.lexically_relative(root).generic_string(), text));
  };
  for (const auto& top_level : fs::directory_iterator(root)) {
    if (!belongs_to_project(top_level.path())) continue;
    if (top_level.is_regular_file()) add(top_level.path());
    if (!top_level.is_directory()) continue;
    for (const auto& entry : fs::recursive_directory_iterator(top_level.path())) {
      if (entry.is_regular_file()) add(entry.path());
    }
  }
  std::ranges::sort(tree, {}, &SourceFile::path);
  return tree;
}

}  // namespace stitch::repository
