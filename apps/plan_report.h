// The JSON object of `compile` and `plan`.
#pragma once
#include <string>

#include "compile_model.h"

namespace stitch {

// Top-level figures are those of the first architecture.
std::string report_json(const CompiledModel& compiled);

// Peak resident memory of this process in MB (10^6 bytes).
double peak_memory_mb();

}  // namespace stitch
