// stitchc calibrate: measures a device, and writes what --calibration takes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <memory>

#include "calibrate/calibrate_device.h"
#include "command.h"
#include "console.h"
#include "device_costs.h"
#include "device_flag.h"
#include "exit_code.h"
#include "graph/error.h"
#include "measuring_images.h"
#include "runtime/launcher_error.h"
#include "table.h"

namespace stitch {

namespace {

struct CalibrateFlags {
  std::string device = "gpu";
  std::string target;  // the model to replace figures of; empty: by the device's name
  std::filesystem::path output;
  std::filesystem::path calibration;  // with --show
  std::filesystem::path cuda;
  CalibrateOptions options;
  bool show = false;
  ConsoleOptions console;
};

constexpr double kWideSpread = 0.25;

std::string results_table(const DeviceModel& shipped, const Calibration& calibration) {
  Table table({{"value", Align::kLeft},
               {"shipped"},
               {"measured"},
               {"spread"},
               {"unit", Align::kLeft},
               {"meaning", Align::kLeft}});
  for (const CalibratedValue& one : calibration.values) {
    table.add_row({std::string(one.value->name),
                   fmt::format("{:.4g}", (shipped.*one.value->field).value),
                   fmt::format("{:.4g}", one.number), fmt::format("{:.1f} %", 100 * one.spread),
                   std::string(one.value->unit), std::string(one.value->meaning)});
  }
  return table.to_string();
}

std::string results_json(const DeviceModel& shipped, const Calibration& calibration) {
  nlohmann::ordered_json json;
  json["device"] = calibration.device;
  json["architecture"] = calibration.architecture;
  json["measured_on"] = calibration.measured_on;
  json["clock"] = calibration.clock == CalibrationClock::kDevice ? "device" : "emulator";
  json["repetitions"] = calibration.repetitions;
  for (const CalibratedValue& one : calibration.values)
    json["values"][std::string(one.value->name)] = {{"measured", one.number},
                                                    {"spread", one.spread},
                                                    {"shipped", (shipped.*one.value->field).value},
                                                    {"unit", one.value->unit}};
  for (const CalibrationSample& sample : calibration.samples)
    json["samples"][std::string(sample.curve->name)].push_back({sample.place, sample.number});
  return json.dump();
}

int show(const CalibrateFlags& flags) {
  Console console(flags.console);
  DeviceModel device = find_device(flags.target, "");
  if (!flags.calibration.empty()) {
    const Calibration calibration = read_calibration_file(flags.calibration);
    if (flags.target.empty()) device = find_device(calibration.device, "");
    if (device.name != calibration.device)
      throw ModelError(fmt::format("'{}' is of {}, and --target asks for {}",
                                   flags.calibration.string(), calibration.device, device.name));
    device = calibrated(device, calibration);
  }
  if (console.wants_json()) {
    nlohmann::ordered_json json;
    json["device"] = device.name;
    json["architecture"] = device.architecture;
    json["costs"] = costs_json(device);
    console.json(json.dump());
  } else {
    console.line(costs_table(device));
  }
  return kDone;
}

const DeviceModel& target_model(const CalibrateFlags& flags, const runtime::Device& device) {
  if (flags.target.empty()) return model_of(device);
  return find_device(flags.target, runtime::architecture_name(device.architecture));
}

int calibrate(const CalibrateFlags& flags) {
  if (flags.show) return show(flags);
  if (!flags.calibration.empty())
    throw ModelError("--calibration is read by --show only\nhelp: -o FILE says where to write");
  if (flags.output.empty())
    throw ModelError(
        "calibrate writes a file\nhelp: pass -o FILE, or --show to print what is "
        "assumed");
  Console console(flags.console);
  try {
    MeasuringDevice device(device_options(flags.device));
    const runtime::Device& info = device.info();
    const DeviceModel& model = target_model(flags, info);
    if (info.multiprocessors != model.sm_count)
      console.note(
          fmt::format("{} has {} multiprocessors, and the model {} has {}: plans are made "
                      "for the latter",
                      info.name, info.multiprocessors, model.name, model.sm_count));
    if (info.emulated) console.note("the emulator's clock is the host's: it says nothing of a GPU");
    for (const std::vector<std::byte>& image : measuring_images(info, flags.cuda))
      device.load(image);
    const CalibrationOutcome outcome = calibrate_device(device, model, flags.options);
    const Calibration& calibration = outcome.calibration;
    for (const std::string_view value : outcome.unresolved)
      console.note(fmt::format("{} could not be told from zero, so that it is left out", value));
    std::ofstream file(flags.output, std::ios::binary);
    file << print_calibration(calibration);
    if (!file.flush()) throw ModelError(fmt::format("cannot write '{}'", flags.output.string()));
    if (console.wants_json()) {
      console.json(results_json(model, calibration));
      return kDone;
    }
    console.line(results_table(model, calibration));
    for (const CalibratedValue& one : calibration.values)
      if (one.spread > kWideSpread && !info.emulated)
        console.note(
            fmt::format("the repetitions of {} differ by {:.0f} %: measure it again on an "
                        "idle device with locked clocks",
                        one.value->name, 100 * one.spread));
    console.line(fmt::format("{} of {}: {} values, {} samples, {} repetitions, written to {}",
                             calibration.device, info.name, calibration.values.size(),
                             calibration.samples.size(), calibration.repetitions,
                             flags.output.string()));
  } catch (const runtime::LauncherError& error) {
    throw DeviceError(error.what());
  }
  return kDone;
}

}  // namespace

void add_calibrate_command(CLI::App& app, Action& action) {
  auto flags = std::make_shared<CalibrateFlags>();
  CLI::App* command = app.add_subcommand(
      "calibrate", "measure a device for the cost models, or print what they assume of it");
  command->add_option("--device", flags->device, "gpu (default), gpu:1, emulator, emulator:sm_90")
      ->type_name("DEVICE");
  command
      ->add_option("--target", flags->target,
                   "device model whose figures are measured or shown (default: by the device's "
                   "name): v100, t4, a10, a100, l4, h100, h200, b200")
      ->type_name("DEVICE");
  command->add_option("-o,--output", flags->output, "the calibration file to write")
      ->type_name("FILE");
  command->add_option("--repetitions", flags->options.repetitions, "of each timing (default 31)")
      ->check(CLI::Range(3, 1001))
      ->type_name("N");
  command->add_option("--cuda", flags->cuda, "folder of a CUDA toolkit to take NVRTC from")
      ->check(CLI::ExistingDirectory)
      ->type_name("DIR");
  command->add_flag("--show", flags->show,
                    "print the values in use for --target and where they come from");
  command
      ->add_option("--calibration", flags->calibration, "with --show: values of this file as well")
      ->type_name("FILE");
  command->add_flag("--json", flags->console.json, "one JSON object on stdout");
  command->add_flag("-q,--quiet", flags->console.quiet, "print errors only");
  command->footer(
      "Nothing else should run on the device meanwhile; locked clocks give narrower spreads.\n"
      "Examples:\n"
      "  stitchc calibrate -o a100.calibration\n"
      "  stitchc plan model.onnx --arch sm_80 --calibration a100.calibration\n"
      "  stitchc calibrate --show --target h100\n"
      "  stitchc calibrate --show --calibration a100.calibration");
  command->callback([flags, &action] { action = [flags] { return calibrate(*flags); }; });
}

}  // namespace stitch
