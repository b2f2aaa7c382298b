// What `stitchc plan --dim batch=1..64` says: the plan for the range, and where others would win.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "compile_flags.h"
#include "model_flags.h"
#include "planner/plan_range.h"

namespace stitch {

// Imports the model at each sample. ModelError for flags that are of one plan: --plan,
// --only-kernel,
// --max-fusions, --explain, --dump-dir.
PlanRange plan_model_range(const ModelFlags& model, const CompileFlags& flags,
                           const std::string& architecture);

std::string range_table(const PlanRange& range, const std::string& device);
nlohmann::ordered_json range_json(const PlanRange& range);

}  // namespace stitch
