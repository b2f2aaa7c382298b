#include "planner/device/cost_values.h"

#include <array>

namespace stitch {
namespace {

constexpr std::array kValues = {
#define STITCH_COST_VALUE(field, unit, kind, meaning) \
  CostValue{#field, unit, CostKind::kind, &DeviceModel::field, meaning},
#include "planner/device/cost_values.def"
};

}  // namespace

std::span<const CostValue> cost_values() { return kValues; }

const CostValue* find_cost_value(std::string_view name) {
  for (const CostValue& value : kValues) {
    if (value.name == name) return &value;
  }
  return nullptr;
}

std::string_view name(Origin origin) {
  switch (origin) {
    case Origin::kMeasured:
      return "measured";
    case Origin::kLiterature:
      return "literature";
    case Origin::kAssumed:
      return "assumed";
  }
  return "";
}

}  // namespace stitch
