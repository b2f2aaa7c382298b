#include <algorithm>
#include <filesystem>
#include <regex>
#include <string>

#include "repository/rules.h"

namespace stitch::repository {
namespace {

bool leads_somewhere(const SourceTree& tree, const std::string& path) {
  return std::ranges::any_of(
      tree, [&](const SourceFile& file) { return file.path == path || file.is_under(path); });
}

// "docs/a.md" and "../src/b.h#line" give "src/b.h".
std::string resolve(const SourceFile& from, std::string link) {
  link.resize(std::min(link.find('#'), link.size()));
  const auto folder = std::filesystem::path(from.path).parent_path();
  std::string path = (folder / link).lexically_normal().generic_string();
  if (path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

Violations check_links(const SourceTree& tree) {
  static const std::regex link_pattern(R"(\]\(([^)\s]+)\))");
  Violations violations;
  for (const SourceFile& file : tree) {
    if (file.extension() != ".md") continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string& line = file.lines[i];
      for (auto match = std::sregex_iterator(line.begin(), line.end(), link_pattern);
           match != std::sregex_iterator(); ++match) {
        const std::string link = (*match)[1];
        if (link.starts_with('#') || link.find("://") != std::string::npos) continue;
        if (leads_somewhere(tree, resolve(file, link))) continue;
        violations.push_back({file.path, i + 1, "links to " + link + ", which does not exist"});
      }
    }
  }
  return violations;
}

}  // namespace stitch::repository
