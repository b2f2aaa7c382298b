#include "planner/device/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "graph/error.h"

namespace stitch {
namespace {

constexpr int kVersion = 1;

constexpr std::array kCurves = {
    CalibrationCurve{"dram_bandwidth", "threads", "GB/s",
                     "copies beyond L2, by so many threads on the device"},
    CalibrationCurve{"l2_bandwidth", "threads", "GB/s",
                     "copies inside of L2, by so many threads on the device"},
    CalibrationCurve{"footprint_bandwidth", "B", "GB/s",
                     "copies by a full device that touch so many bytes"},
    CalibrationCurve{"issue_rate", "threads", "1",
                     "share of the full rate, by so many threads on a multiprocessor"}};

class CalibrationReader {
 public:
  CalibrationReader(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Calibration read() {
    while (next_line()) {
      if (tokens_.empty()) continue;
      if (!has_version_) {
        read_version();
      } else {
        read_line();
      }
    }
    require_all();
    const auto order = [](const CalibratedValue& a, const CalibratedValue& b) {
      return a.value < b.value;
    };
    std::sort(result_.values.begin(), result_.values.end(), order);
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw ModelError(fmt::format("{}:{}: {}", file_, line_, message));
  }

  // Splits the next line into words; a quoted text is one word, with its first quote.
  bool next_line() {
    if (at_ >= text_.size()) return false;
    ++line_;
    size_t end = text_.find('\n', at_);
    if (end == std::string_view::npos) end = text_.size();
    const std::string_view line = text_.substr(at_, end - at_);
    at_ = end + 1;
    tokens_.clear();
    for (size_t i = 0; i < line.size();) {
      if (line[i] == ' ' || line[i] == '\t' || line[i] == '\r') {
        ++i;
      } else if (line[i] == '#') {
        break;
      } else if (line[i] == '"') {
        const size_t close = line.find('"', i + 1);
        if (close == std::string_view::npos) fail("a quoted text has no end");
        tokens_.push_back(line.substr(i, close - i));
        i = close + 1;
      } else {
        const size_t stop = std::min(line.find_first_of(" \t\r#", i), line.size());
        tokens_.push_back(line.substr(i, stop - i));
        i = stop;
      }
    }
    return true;
  }

  void read_version() {
    if (tokens_.size() != 3 || tokens_[0] != "stitchc" || tokens_[1] != "calibration") {
      fail(fmt::format("this is no calibration: expected 'stitchc calibration {}'", kVersion));
    }
    if (tokens_[2] != std::to_string(kVersion)) {
      fail(fmt::format("the format is {}, and this stitchc reads {}", tokens_[2], kVersion));
    }
    has_version_ = true;
  }

  void read_line() {
    const std::string_view key = tokens_[0];
    if (key == "value") return read_value();
    if (key == "sample") return read_sample();
    if (key == "device") return read_text(result_.device);
    if (key == "architecture") return read_text(result_.architecture);
    if (key == "measured-on") return read_text(result_.measured_on);
    if (key == "clock") return read_clock();
    if (key == "repetitions") {
      expect_words(2, "repetitions NUMBER");
      result_.repetitions = static_cast<int>(number(tokens_[1]));
      return;
    }
    fail(
        fmt::format("'{}' begins no line; expected device, architecture, measured-on, clock, "
                    "repetitions, value or sample",
                    key));
  }

  void expect_words(size_t count, std::string_view form) const {
    if (tokens_.size() != count) fail(fmt::format("expected '{}'", form));
  }

  void read_text(std::string& text) {
    expect_words(2, fmt::format("{} NAME", tokens_[0]));
    if (!text.empty()) fail(fmt::format("'{}' is given twice", tokens_[0]));
    text = tokens_[1].substr(tokens_[1].starts_with('"') ? 1 : 0);
    if (text.empty()) fail(fmt::format("'{}' is empty", tokens_[0]));
  }

  void read_clock() {
    expect_words(2, "clock device' or 'clock emulator");
    if (has_clock_) fail("'clock' is given twice");
    if (tokens_[1] != "device" && tokens_[1] != "emulator") {
      fail(fmt::format("the clock is device or emulator, not '{}'", tokens_[1]));
    }
    result_.clock =
        tokens_[1] == "device" ? CalibrationClock::kDevice : CalibrationClock::kEmulator;
    has_clock_ = true;
  }

  void read_value() {
    if (tokens_.size() != 8 || tokens_[2] != "=" || tokens_[6] != "spread") {
      fail("expected 'value NAME = NUMBER UNIT measured spread NUMBER'");
    }
    const CostValue* const value = find_cost_value(tokens_[1]);
    if (value == nullptr || value->kind != CostKind::kCalibrated) {
      fail(fmt::format("there is no calibrated value '{}'\nnote: known are {}", tokens_[1],
                       known_values()));
    }
    for (const CalibratedValue& other : result_.values) {
      if (other.value == value) fail(fmt::format("'{}' is given twice", value->name));
    }
    expect_unit(value->name, value->unit, tokens_[4]);
    if (tokens_[5] != "measured") {
      fail(fmt::format("'{}' is marked '{}': a calibration holds what was measured", value->name,
                       tokens_[5]));
    }
    const double spread = tokens_[7] == "0" ? 0 : number(tokens_[7]);
    result_.values.push_back({value, number(tokens_[3]), spread});
  }

  void read_sample() {
    if (tokens_.size() != 7 || tokens_[4] != "=") {
      fail("expected 'sample CURVE NUMBER UNIT = NUMBER UNIT'");
    }
    for (const CalibrationCurve& curve : kCurves) {
      if (curve.name != tokens_[1]) continue;
      expect_unit(curve.name, curve.unit_of_place, tokens_[3]);
      expect_unit(curve.name, curve.unit, tokens_[6]);
      result_.samples.push_back({&curve, number(tokens_[2]), number(tokens_[5])});
      return;
    }
    fail(fmt::format("there is no curve '{}'", tokens_[1]));
  }

  void expect_unit(std::string_view what, std::string_view expected, std::string_view unit) const {
    if (unit != expected) {
      fail(fmt::format("'{}' is in {}, not in '{}'", what, expected, unit));
    }
  }

  double number(std::string_view word) const {
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size()) {
      fail(fmt::format("'{}' is no number", word));
    }
    if (!std::isfinite(value) || value <= 0) fail(fmt::format("'{}' is not above zero", word));
    return value;
  }

  static std::string known_values() {
    std::string names;
    for (const CostValue& value : cost_values()) {
      if (value.kind != CostKind::kCalibrated) continue;
      names += fmt::format("{}{}", names.empty() ? "" : ", ", value.name);
    }
    return names;
  }

  void require_all() const {
    const auto missing = [&](std::string_view what) {
      throw ModelError(fmt::format("{}: the calibration has no line '{}'", file_, what));
    };
    if (!has_version_) missing(fmt::format("stitchc calibration {}", kVersion));
    if (result_.device.empty()) missing("device");
    if (result_.architecture.empty()) missing("architecture");
    if (!has_clock_) missing("clock");
    if (result_.values.empty()) missing("value");
    try {
      find_device(result_.device, result_.architecture);
    } catch (const ModelError& error) {
      throw ModelError(fmt::format("{}: {}", file_, error.what()));
    }
  }

  std::string_view text_;
  std::string_view file_;
  size_t at_ = 0;
  int line_ = 0;
  std::vector<std::string_view> tokens_;
  bool has_version_ = false;
  bool has_clock_ = false;
  Calibration result_;
};

}  // namespace

std::span<const CalibrationCurve> calibration_curves() { return kCurves; }

Calibration parse_calibration(std::string_view text, std::string_view file) {
  return CalibrationReader(text, file).read();
}

std::string print_calibration(const Calibration& calibration) {
  const bool is_device = calibration.clock == CalibrationClock::kDevice;
  std::string text = fmt::format(
      "stitchc calibration {}\ndevice {}\narchitecture {}\nmeasured-on \"{}\"\nclock {}{}\n"
      "repetitions {}\n\n",
      kVersion, calibration.device, calibration.architecture, calibration.measured_on,
      is_device ? "device" : "emulator",
      is_device ? "" : "  # the host's time: it says nothing of a GPU", calibration.repetitions);
  for (const CalibratedValue& one : calibration.values) {
    text += fmt::format("value {} = {:.6g} {} measured spread {:.3g}  # {}\n", one.value->name,
                        one.number, one.value->unit, one.spread, one.value->meaning);
  }
  const CalibrationCurve* curve = nullptr;
  for (const CalibrationSample& sample : calibration.samples) {
    if (sample.curve != curve) text += fmt::format("\n# {}\n", sample.curve->meaning);
    curve = sample.curve;
    text += fmt::format("sample {} {:.0f} {} = {:.6g} {}\n", curve->name, sample.place,
                        curve->unit_of_place, sample.number, curve->unit);
  }
  return text;
}

DeviceModel calibrated(const DeviceModel& shipped, const Calibration& calibration) {
  if (shipped.name != calibration.device) {
    throw InternalError(
        fmt::format("a calibration of {} is applied to {}", calibration.device, shipped.name));
  }
  DeviceModel device = shipped;
  for (const CalibratedValue& one : calibration.values) {
    device.*one.value->field = {one.number, sources::kCalibration};
  }
  return device;
}

}  // namespace stitch
