// A plan as a file: written by `stitchc plan --write`, edited by hand, read back by --plan.
#pragma once
#include <filesystem>

#include "graph/graph.h"
#include "planner/plan/plan.h"

namespace stitch {

// ModelError when the file cannot be written.
void write_plan_file(const Plan& plan, const std::filesystem::path& file);

// The plan of a file, made for `graph`. ModelError, with file and line, when it cannot be read, is
// of another model, or breaks a rule of plan_validate.h. The plan refers to the graph.
Plan read_plan_file(const std::filesystem::path& file, const Graph& graph);

}  // namespace stitch
