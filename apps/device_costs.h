// What the cost models assume of a device, as a person and a program read it.
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "planner/device/calibration.h"

namespace stitch {

// A row for each value: number, unit, measured or literature or assumed, source, meaning.
std::string costs_table(const DeviceModel& device);
// {"launch_us": {"value", "unit", "origin", "source"}, ...}
nlohmann::ordered_json costs_json(const DeviceModel& device);
// "costs of a100: 17 measured, 4 literature, 0 assumed"
std::string costs_line(const DeviceModel& device);

// ModelError when there is no such file, or for what parse_calibration refuses.
Calibration read_calibration_file(const std::filesystem::path& file);

}  // namespace stitch
