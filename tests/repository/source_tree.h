// The files of the repository as text: what the repository rules look at.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace stitch::repository {

struct SourceFile {
  std::string path;                // relative to the root, with forward slashes
  std::vector<std::string> lines;  // without line ends

  std::string_view name() const;       // "graph.h"
  std::string_view extension() const;  // ".h"; empty for a name without a dot
  bool is_under(std::string_view folder) const;
};

// A file named `path` that holds `text`.
SourceFile make_source_file(std::string path, std::string_view text);

// In order of path.
using SourceTree = std::vector<SourceFile>;

// Reads every text file that belongs to the project: hidden folders other than .ci, build folders
// and files that hold a zero byte are left out.
SourceTree read_source_tree(const std::filesystem::path& root);

}  // namespace stitch::repository
