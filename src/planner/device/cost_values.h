// The table of figures that the cost models read: name, unit, field, meaning.
#pragma once
#include <span>
#include <string_view>

#include "planner/device/device_model.h"

namespace stitch {

enum class CostKind : uint8_t { kFixed, kCalibrated };

struct CostValue {
  std::string_view name;
  std::string_view unit;
  CostKind kind;
  Figure DeviceModel::*field;
  std::string_view meaning;
};

std::span<const CostValue> cost_values();

// Null when there is none of that name.
const CostValue* find_cost_value(std::string_view name);

}  // namespace stitch
