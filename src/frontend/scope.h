// Names that ONNX nodes can read: those of a graph, and around a subgraph those outside it.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/imported_value.h"

namespace stitch {

class Scope {
 public:
  explicit Scope(const Scope* outer = nullptr) : outer_(outer) {}

  // Null when no scope has the name.
  ImportedValuePtr find(const std::string& name) const {
    const auto found = values_.find(name);
    if (found != values_.end()) return found->second;
    return outer_ ? outer_->find(name) : nullptr;
  }
  bool defines(const std::string& name) const { return values_.contains(name); }
  void define(const std::string& name, ImportedValuePtr value) { values_[name] = std::move(value); }
  std::vector<std::string> names() const {
    std::vector<std::string> result = outer_ ? outer_->names() : std::vector<std::string>{};
    for (const auto& [name, value] : values_) result.push_back(name);
    return result;
  }

 private:
  const Scope* outer_;
  std::unordered_map<std::string, ImportedValuePtr> values_;
};

}  // namespace stitch
