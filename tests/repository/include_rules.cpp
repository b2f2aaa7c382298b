#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "repository/rules.h"

namespace stitch::repository {
namespace {

struct Include {
  std::string_view target;
  bool in_quotes = false;
  std::size_t line = 0;
};

struct Layer {
  std::string folder;
  std::vector<std::string_view> may_include;
};

constexpr std::array<std::string_view, 7> kStages = {"graph",   "frontend", "planner",  "emit_cuda",
                                                     "runtime", "emulator", "calibrate"};

// Of src/planner, bottom up: each may use those before it.
constexpr std::array<std::string_view, 11> kPlannerFolders = {
    "planner/access",    "planner/device", "planner/absorb", "planner/plan",
    "planner/structure", "planner/check",  "planner/cost",   "planner/stage",
    "planner/kernel",    "planner/fusion", "planner/report"};

std::vector<Layer> planner_layers() {
  std::vector<Layer> table;
  std::vector<std::string_view> below = {"graph"};
  for (const std::string_view folder : kPlannerFolders) {
    below.push_back(folder);
    table.push_back({"src/" + std::string(folder), below});
  }
  return table;
}

std::vector<Layer> all_layers() {
  std::vector<Layer> table = {
      {"src/graph", {"graph"}},
      {"src/frontend", {"graph", "frontend"}},
      {"src/planner", {"graph", "planner"}},
      {"src/emit_cuda",
       {"graph", "planner", "emit_cuda", "runtime/bundle_format.h", "runtime/content_hash.h",
        "runtime/element_type.h", "runtime/launcher_error.h", "runtime/program_check.h",
        "runtime/program_codec.h"}},
      {"src/runtime", {"runtime"}},
      {"src/emulator",
       {"emulator", "runtime", "emit_cuda/device", "graph/error.h", "graph/subprocess.h"}},
      {"src/calibrate",
       {"calibrate", "runtime", "planner/device", "planner/cost", "graph/error.h", "graph/op.h"}},
  };
  for (Layer& layer : planner_layers()) table.push_back(std::move(layer));
  return table;
}

// apps and tests, which may use every stage, are not in this list.
const std::vector<Layer>& layers() {
  static const std::vector<Layer> table = all_layers();
  return table;
}

std::optional<Include> parse_include(std::string_view line, std::size_t number) {
  const auto skip_spaces = [&] {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  };
  skip_spaces();
  if (!line.starts_with('#')) return std::nullopt;
  line.remove_prefix(1);
  skip_spaces();
  if (!line.starts_with("include")) return std::nullopt;
  line.remove_prefix(std::string_view("include").size());
  skip_spaces();
  if (!line.starts_with('"') && !line.starts_with('<')) return std::nullopt;
  const bool in_quotes = line.front() == '"';
  const std::size_t end = line.find(in_quotes ? '"' : '>', 1);
  if (end == std::string_view::npos) return std::nullopt;
  return Include{line.substr(1, end - 1), in_quotes, number};
}

std::vector<Include> includes_of(const SourceFile& file) {
  std::vector<Include> includes;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    if (auto include = parse_include(file.lines[i], i + 1)) includes.push_back(*include);
  }
  return includes;
}

bool is_source(const SourceFile& file) {
  constexpr std::array<std::string_view, 7> kExtensions = {".h",   ".cpp", ".cuh", ".cu",
                                                           ".def", ".c",   ".inc"};
  const bool in_code = file.is_under("src") || file.is_under("apps") || file.is_under("tests") ||
                       file.is_under("bench");
  return in_code && std::ranges::count(kExtensions, file.extension()) > 0;
}

// "graph" covers "graph/dim.h"; "runtime/bundle_format.h" covers itself.
bool covers(std::string_view allowed, std::string_view target) {
  return target == allowed ||
         (target.starts_with(allowed) && target.substr(allowed.size()).starts_with('/'));
}

bool is_stage_header(std::string_view target) {
  return std::ranges::any_of(kStages,
                             [&](std::string_view stage) { return covers(stage, target); });
}

// tests/onnx has headers of its own, in quotes.
bool is_schema_header(const Include& include) {
  return include.target.starts_with("google/protobuf/") || include.target.ends_with(".pb.h") ||
         include.target.starts_with("onnx/onnx") ||
         (include.target.starts_with("onnx/") && !include.in_quotes);
}

void check_layer(const SourceFile& file, const Include& include, Violations& violations) {
  for (const Layer& layer : layers()) {
    if (!file.is_under(layer.folder) || !is_stage_header(include.target)) continue;
    const bool allowed = std::ranges::any_of(
        layer.may_include, [&](std::string_view prefix) { return covers(prefix, include.target); });
    if (!allowed) {
      violations.push_back(
          {file.path, include.line,
           "includes " + std::string(include.target) + ", which its layer may not use"});
    }
  }
}

void check_place(const SourceFile& file, const Include& include, Violations& violations) {
  const auto forbid = [&](std::string_view why) {
    violations.push_back(
        {file.path, include.line, std::string(include.target) + ' ' + std::string(why)});
  };
  if (include.target.starts_with("../")) forbid("is relative: includes start at src/ or tests/");
  const bool reads_schema = file.is_under("src/frontend") || file.is_under("tests/frontend");
  if (is_schema_header(include) && !reads_schema) {
    forbid("is a protobuf header: these live in src/frontend");
  }
  if (include.target == "nvrtc.h" &&
      !(file.is_under("src/emit_cuda") && file.extension() == ".cpp")) {
    forbid("belongs to one .cpp of src/emit_cuda");
  }
  if (include.target == "cuda.h" && !file.is_under("src/emulator") && !file.is_under("tests")) {
    forbid("belongs to the emulator and one test");
  }
  // Standard headers have no folder; those of POSIX are under sys/.
  const bool beyond_standard = !include.in_quotes &&
                               include.target.find('/') != std::string_view::npos &&
                               !include.target.starts_with("sys/");
  if (file.is_under("src/runtime") && beyond_standard) {
    forbid("is not of the standard library, on which the runtime stands alone");
  }
}

// Reports every user of `header` after the first among the files that `counts` accepts.
template <class Predicate>
void check_single_user(const SourceTree& tree, std::string_view header, Predicate counts,
                       Violations& violations) {
  std::string_view first_user;
  for (const SourceFile& file : tree) {
    if (!is_source(file) || !counts(file)) continue;
    for (const Include& include : includes_of(file)) {
      if (include.target != header) continue;
      if (!first_user.empty() && first_user != file.path) {
        violations.push_back(
            {file.path, include.line,
             std::string(header) + " is already used by " + std::string(first_user)});
      }
      if (first_user.empty()) first_user = file.path;
    }
  }
}

}  // namespace

Violations check_includes(const SourceTree& tree) {
  Violations violations;
  for (const SourceFile& file : tree) {
    if (!is_source(file)) continue;
    for (const Include& include : includes_of(file)) {
      check_layer(file, include, violations);
      check_place(file, include, violations);
    }
  }
  check_single_user(
      tree, "nvrtc.h", [](const SourceFile& file) { return file.is_under("src"); }, violations);
  check_single_user(
      tree, "cuda.h",
      [](const SourceFile& file) {
        return file.is_under("tests") && !file.is_under("tests/emulator");
      },
      violations);
  return violations;
}

}  // namespace stitch::repository
