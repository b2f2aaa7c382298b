#include "table.h"

#include <fmt/format.h>

#include <algorithm>

namespace stitch {

std::string Table::to_string() const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = columns_[c].title.size();
    for (const auto& row : rows_) width = std::max(width, row[c].size());
    widths.push_back(width);
  }
  std::string text;
  const auto add_line = [&](const auto& cell) {
    std::string line;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) line += "  ";
      line += columns_[c].align == Align::kLeft ? fmt::format("{:<{}}", cell(c), widths[c])
                                                : fmt::format("{:>{}}", cell(c), widths[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += (text.empty() ? "" : "\n") + line;
  };
  add_line([&](size_t c) { return columns_[c].title; });
  for (const auto& row : rows_) add_line([&](size_t c) { return row[c]; });
  return text;
}

}  // namespace stitch
