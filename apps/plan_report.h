// The JSON object of `compile` and `plan`.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "compile_model.h"
#include "plan_counts.h"

namespace stitch {

// Top-level figures are those of the first architecture.
std::string report_json(const CompiledModel& compiled);

// The counts under the keys that every report has; the predicted time is the caller's to add.
void add_counts(nlohmann::ordered_json& json, const PlanCounts& counts);

// Peak resident memory of this process in MB (10^6 bytes).
double peak_memory_mb();

}  // namespace stitch
