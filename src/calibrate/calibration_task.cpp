#include "calibrate/calibration_task.h"

#include <fmt/format.h>

#include "graph/error.h"

namespace stitch {

void CalibrationTask::add_value(std::string_view name, const Measured& measured) {
  const CostValue* const value = find_cost_value(name);
  if (value == nullptr) throw InternalError(fmt::format("there is no cost value {}", name));
  if (!measured.is_told_from_zero) {
    unresolved.push_back(value->name);
    return;
  }
  result.values.push_back({value, measured.value, measured.spread});
}

void CalibrationTask::add_sample(std::string_view curve, double place, double number) {
  for (const CalibrationCurve& known : calibration_curves()) {
    if (known.name != curve) continue;
    result.samples.push_back({&known, place, number});
    return;
  }
  throw InternalError(fmt::format("there is no curve {}", curve));
}

}  // namespace stitch
