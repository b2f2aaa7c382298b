// What `stitchc calibrate` measured of one device: figures that replace the shipped ones, the
// curves that they were read off, and the text form of both.
//
//   stitchc calibration 1
//   device a100
//   architecture sm_80
//   measured-on "NVIDIA A100-SXM4-80GB"
//   clock device
//   repetitions 31
//   value launch_us = 1.12 us measured spread 0.02
//   sample dram_bandwidth 27648 threads = 812.5 GB/s
//
// A `#` begins a comment. docs/planner.md, "Calibration", says what every value means.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "planner/device/cost_values.h"

namespace stitch {

// Whose time the events told: that of the emulator is the host's, which says nothing of a GPU.
enum class CalibrationClock : uint8_t { kDevice, kEmulator };

struct CalibratedValue {
  const CostValue* value = nullptr;
  double number = 0;
  double spread = 0;  // half of the distance between the quartiles, over the median
};

struct CalibrationCurve {
  std::string_view name;
  std::string_view unit_of_place;
  std::string_view unit;
  std::string_view meaning;
};
std::span<const CalibrationCurve> calibration_curves();

// One point of a curve; for reading, the figures are what counts.
struct CalibrationSample {
  const CalibrationCurve* curve = nullptr;
  double place = 0;
  double number = 0;
};

struct Calibration {
  std::string device;        // "a100": the model whose figures it replaces
  std::string architecture;  // "sm_80"
  std::string measured_on;   // as the driver calls it
  CalibrationClock clock = CalibrationClock::kDevice;
  int repetitions = 0;
  std::vector<CalibratedValue> values;  // each at most once; the others stay as shipped
  std::vector<CalibrationSample> samples;
};

// ModelError "FILE:LINE: ..." for what is not of the form above: an unknown or repeated value, a
// wrong unit, a number that is not positive, another version or device.
Calibration parse_calibration(std::string_view text, std::string_view file);
std::string print_calibration(const Calibration& calibration);

// `shipped` with the measured figures. The calibration must be of that device.
DeviceModel calibrated(const DeviceModel& shipped, const Calibration& calibration);

}  // namespace stitch
