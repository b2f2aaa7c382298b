// The rules that every file of the repository keeps: layers, sizes, names and words.
#pragma once

#include <string>
#include <vector>

#include "repository/source_tree.h"

namespace stitch::repository {

struct Violation {
  std::string path;
  std::size_t line = 0;  // from 1; 0 where the rule is about the whole file
  std::string reason;
};

using Violations = std::vector<Violation>;

// "src/graph/dim.cpp:7: includes planner/plan.h, a later stage", one violation a line.
std::string to_text(const Violations& violations);

// Layers: graph <- frontend; graph <- planner <- emit_cuda; runtime alone; emulator on runtime;
// apps and tests on all. Protobuf and ONNX headers stay in the frontend, nvrtc.h in one file,
// cuda.h in the emulator, its tests and one other, and the runtime, which is shipped inside
// bundles, includes the standard library only.
Violations check_includes(const SourceTree& tree);

// A source has at most 500 lines.
Violations check_lengths(const SourceTree& tree);

// A header has an include guard and begins with a comment that holds at least one sentence.
Violations check_headers(const SourceTree& tree);

// No file is named after what it is not: utils, helpers, common, misc, manager.
Violations check_names(const SourceTree& tree);

// No absolute paths of somebody's machine, no to-do without a reason, no test that cannot fail.
Violations check_words(const SourceTree& tree);

// CMake names its sources: no globbing, and every .cpp under src, apps and tests is named in a
// CMakeLists.txt above it.
Violations check_cmake(const SourceTree& tree);

// Every relative link of a Markdown file leads to a file or folder.
Violations check_links(const SourceTree& tree);

}  // namespace stitch::repository
