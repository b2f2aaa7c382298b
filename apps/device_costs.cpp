#include "device_costs.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "graph/error.h"
#include "table.h"

namespace stitch {
namespace fs = std::filesystem;

std::string costs_table(const DeviceModel& device) {
  Table table({{"value", Align::kLeft},
               {fmt::format("{} ({})", device.name, device.architecture)},
               {"unit", Align::kLeft},
               {"origin", Align::kLeft},
               {"source", Align::kLeft},
               {"meaning", Align::kLeft}});
  for (const CostValue& value : cost_values()) {
    const Figure& figure = device.*value.field;
    table.add_row({std::string(value.name), fmt::format("{:.4g}", figure.value),
                   std::string(value.unit), std::string(name(figure.source.origin)),
                   std::string(figure.source.text), std::string(value.meaning)});
  }
  return table.to_string();
}

nlohmann::ordered_json costs_json(const DeviceModel& device) {
  nlohmann::ordered_json json;
  for (const CostValue& value : cost_values()) {
    const Figure& figure = device.*value.field;
    json[std::string(value.name)] = {{"value", figure.value},
                                     {"unit", value.unit},
                                     {"origin", name(figure.source.origin)},
                                     {"source", figure.source.text}};
  }
  return json;
}

std::string costs_line(const DeviceModel& device) {
  int measured = 0, literature = 0, assumed = 0;
  for (const CostValue& value : cost_values()) {
    switch ((device.*value.field).source.origin) {
      case Origin::kMeasured:
        ++measured;
        break;
      case Origin::kLiterature:
        ++literature;
        break;
      case Origin::kAssumed:
        ++assumed;
        break;
    }
  }
  return fmt::format("costs of {}: {} measured, {} literature, {} assumed", device.name, measured,
                     literature, assumed);
}

Calibration read_calibration_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream || fs::is_directory(file))
    throw ModelError(fmt::format("cannot read the calibration '{}'", file.string()));
  const std::string text((std::istreambuf_iterator<char>(stream)),
                         std::istreambuf_iterator<char>());
  return parse_calibration(text, file.string());
}

}  // namespace stitch
