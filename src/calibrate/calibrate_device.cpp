#include "calibrate/calibrate_device.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "calibrate/calibration_task.h"

namespace stitch {
namespace {

constexpr int64_t kEmulatedL2Bytes = 64 << 10;
constexpr int kEmulatedRounds = 256;
constexpr int kEmulatedCopies = 8;

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// "nvidia l40s" has the word "l40s" and not the word "l4".
bool has_word(const std::string& text, std::string_view word) {
  const auto is_part = [&](size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
  };
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    if ((at == 0 || !is_part(at - 1)) && !is_part(at + word.size())) return true;
  }
  return false;
}

}  // namespace

const DeviceModel& model_of(const runtime::Device& device) {
  const std::string name = lower_case(device.name);
  const std::string architecture = runtime::architecture_name(device.architecture);
  for (const DeviceModel& model : device_models()) {
    if (model.architecture == architecture && has_word(name, model.name)) return model;
  }
  return find_device("", architecture);
}

CalibrationOutcome calibrate_device(MeasuringDevice& device, const DeviceModel& model,
                                    const CalibrateOptions& options) {
  const runtime::Device& info = device.info();
  Calibration result;
  result.device = model.name;
  result.architecture = model.architecture;
  result.measured_on = info.name;
  result.clock = info.emulated ? CalibrationClock::kEmulator : CalibrationClock::kDevice;
  result.repetitions = options.repetitions;

  MeasuringEffort effort;
  effort.repetitions = options.repetitions;
  effort.multiprocessors = info.multiprocessors;
  effort.l2_bytes = model.l2_bytes;
  if (info.emulated) {
    effort.multiprocessors = options.emulated_multiprocessors;
    effort.l2_bytes = kEmulatedL2Bytes;
    effort.rounds = kEmulatedRounds;
    effort.copies = kEmulatedCopies;
  }
  CalibrationTask task{device, model, effort, std::move(result)};
  measure_overheads(task);
  measure_memory(task);
  measure_instructions(task);
  std::sort(task.result.values.begin(), task.result.values.end(),
            [](const CalibratedValue& a, const CalibratedValue& b) { return a.value < b.value; });
  return {std::move(task.result), std::move(task.unresolved)};
}

}  // namespace stitch
