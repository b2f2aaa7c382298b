// A table of text: columns as wide as their widest cell, numbers right-aligned.
#pragma once
#include <string>
#include <vector>

namespace stitch {

enum class Align : uint8_t { kLeft, kRight };

struct TableColumn {
  std::string title;
  Align align = Align::kRight;
};

class Table {
 public:
  explicit Table(std::vector<TableColumn> columns) : columns_(std::move(columns)) {}
  // As many cells as columns.
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  size_t row_count() const { return rows_.size(); }
  // Lines joined by newlines, without one at the end; trailing blanks removed.
  std::string to_string() const;

 private:
  std::vector<TableColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace stitch
