// Flags that say which model is meant and what its symbols and inputs are bound to.
#pragma once
#include <CLI/App.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "frontend/import_onnx.h"
#include "planner/plan_range.h"

namespace stitch {

struct ModelFlags {
  std::filesystem::path model;
  std::vector<std::string> dims;   // "batch=8"
  std::vector<std::string> binds;  // "axes=axes.npy"

  // ModelError when a flag is not NAME=VALUE, has a range, or a file cannot be read.
  ImportOptions import_options() const;
  // The dims of "batch=1..64", which `stitchc plan` takes. ModelError for a range without extents.
  std::vector<DimRange> dim_ranges() const;
  // With extents in place of the ranges.
  ImportOptions import_options_at(const DimBindings& extents) const;
};

// --dim and --bind.
void add_binding_flags(CLI::App& command, ModelFlags& flags);
// The positional MODEL, and --dim and --bind.
void add_model_flags(CLI::App& command, ModelFlags& flags);

// A .npy file, or an ONNX TensorProto by any other name. ModelError when it is neither.
Tensor read_tensor_file(const std::filesystem::path& path);

struct NameValue {
  std::string name;
  std::string value;
};
// "name=value" taken apart at the last '=' whose right side is not empty; names may hold any
// characters. ModelError names the flag otherwise.
NameValue split_name_value(const std::string& flag, const std::string& text);

}  // namespace stitch
