// Times the kernels of models on a device, and says how far the predictions are from that:
//   measured_times [--device gpu|emulator:sm_80] [--calibration FILE] [--json] MODEL_FOLDER...
// A folder holds model.onnx, and test_data_set_0 where inputs should not be drawn. Launches stand
// in a stream with an event around each, so that a short kernel's time holds part of its launch.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "calibrate/calibrate_device.h"
#include "calibrate/prediction_error.h"
#include "calibrate/statistics.h"
#include "compile_model.h"
#include "device_flag.h"
#include "emit_cuda/bundle/write_bundle.h"
#include "emulator/private_folder.h"
#include "graph/error.h"
#include "model_flags.h"
#include "model_hash.h"
#include "model_target.h"
#include "table.h"

namespace stitch::bench {
namespace {

using Json = nlohmann::ordered_json;

struct Request {
  std::vector<std::filesystem::path> models;
  std::string device = "gpu";
  int repetitions = 31;
  bool json = false;
  CompileFlags compile;
  ModelFlags model;
};

struct KernelTime {
  std::string name;
  double predicted_us = 0;
  Measured measured;
};

struct ModelTimes {
  std::string name;
  std::vector<KernelTime> kernels;
  int contractions = 0;                // steps that are not predicted, and not compared
  std::vector<std::string> unmatched;  // kernels whose twin ran, or that took no time
  PredictionError error;
};

DataSet data_set_of(const std::filesystem::path& model, const Request& request) {
  const ModelSignature signature = read_signature(model);
  const auto folders = chosen_data_sets("", model);
  return folders.empty() ? draw_data_set(signature, request.model.import_options().dims, 1)
                         : read_data_set(folders.front(), signature);
}

// Median of each step over the repetitions, after a warm-up.
std::vector<Measured> time_steps(runtime::LoadedBundle& bundle, int repetitions,
                                 std::vector<std::string>& names) {
  for (int i = 0; i < 2; ++i) bundle.time_steps();
  std::vector<std::vector<double>> times;
  for (int i = 0; i < repetitions; ++i) {
    const std::vector<runtime::StepTime> steps = bundle.time_steps();
    times.resize(steps.size());
    names.clear();
    for (size_t s = 0; s < steps.size(); ++s) {
      times[s].push_back(steps[s].microseconds);
      names.push_back(steps[s].kernel);
    }
  }
  std::vector<Measured> medians;
  for (const std::vector<double>& step : times) medians.push_back(summary_of(step));
  return medians;
}

// Kernels of the plan in launch order, each with the next step of its function. Steps in between
// are library calls and the clearing of counters.
void match(const PlannedArchitecture& planned, const std::vector<std::string>& names,
           const std::vector<Measured>& times, ModelTimes& result) {
  size_t next = 0;
  for (const Step& step : planned.plan.steps) {
    const Kernel* const kernel = std::get_if<Kernel>(&step);
    if (kernel == nullptr) {
      ++result.contractions;
      continue;
    }
    const std::string& function = planned.compiled.function_of.at(kernel->name);
    const auto found =
        std::find(names.begin() + static_cast<std::ptrdiff_t>(next), names.end(), function);
    if (found == names.end()) {
      result.unmatched.push_back(kernel->name);
      continue;
    }
    next = static_cast<size_t>(found - names.begin());
    const Measured& time = times[next++];
    if (time.value <= 0) {
      result.unmatched.push_back(kernel->name);
    } else {
      result.kernels.push_back({kernel->name, kernel->estimate.total_us, time});
    }
  }
}

ModelTimes time_model(const std::filesystem::path& target, const Request& request, bool emulated) {
  const std::filesystem::path model = model_file(target);
  const DataSet set = data_set_of(model, request);
  Console console({.quiet = true});
  ImportOptions import = request.model.import_options();
  for (const auto& [name, value] : bind_dims(read_signature(model), set.inputs)) {
    import.dims.emplace(name, value);
  }
  CompiledModel compiled;
  import_for_data(set, model, request.compile, console, import, compiled);
  plan_model(request.compile, console, compiled);
  build_kernels(request.compile, emulated ? HostImages::kPlain : HostImages::kNone, console,
                compiled);
  const PrivateFolder folder;
  const std::filesystem::path bundle_folder = folder.path() / "bundle";
  const BundleContents contents =
      bundle_contents(compiled, bundle_name_for(model, ""), model_hash(model), request.compile);
  if (!write_bundle(contents, bundle_folder).libraries_built) {
    throw DeviceError("no host compiler (c++ and ar on PATH) to build the launcher");
  }
  runtime::LoadedBundle bundle(bundle_folder, device_options(request.device));
  std::vector<std::span<const std::byte>> inputs;
  for (const runtime::TensorInfo& input : bundle.inputs()) {
    inputs.push_back(set.inputs.at(input.name).bytes());
  }
  bundle.run(inputs);
  ModelTimes result;
  result.name = bundle_name_for(model, "");
  std::vector<std::string> names;
  const std::vector<Measured> times = time_steps(bundle, request.repetitions, names);
  match(compiled.architectures.front(), names, times, result);
  std::vector<TimedKernel> timed;
  for (const KernelTime& kernel : result.kernels) {
    timed.push_back({kernel.predicted_us, kernel.measured.value});
  }
  result.error = prediction_error(timed);
  return result;
}

Json json_of(const ModelTimes& model) {
  Json json;
  json["rank_correlation"] = model.error.rank_correlation;
  json["geomean_error"] = model.error.geomean_error;
  json["geomean_ratio"] = model.error.geomean_ratio;
  json["contractions"] = model.contractions;
  json["unmatched"] = model.unmatched;
  json["kernels"] = Json::array();
  for (const KernelTime& kernel : model.kernels) {
    json["kernels"].push_back({{"name", kernel.name},
                               {"predicted_us", kernel.predicted_us},
                               {"measured_us", kernel.measured.value},
                               {"spread", kernel.measured.spread}});
  }
  return json;
}

std::string table_of(const std::vector<ModelTimes>& models) {
  Table table({{"model", Align::kLeft},
               {"kernels"},
               {"unmatched"},
               {"predicted"},
               {"measured"},
               {"rank correlation"},
               {"geomean error"},
               {"measured / predicted"}});
  for (const ModelTimes& model : models) {
    double predicted = 0, measured = 0;
    for (const KernelTime& kernel : model.kernels) {
      predicted += kernel.predicted_us;
      measured += kernel.measured.value;
    }
    table.add_row({model.name, std::to_string(model.kernels.size()),
                   std::to_string(model.unmatched.size()), fmt::format("{:.1f} us", predicted),
                   fmt::format("{:.1f} us", measured),
                   fmt::format("{:.3f}", model.error.rank_correlation),
                   fmt::format("{:.2f}", model.error.geomean_error),
                   fmt::format("{:.2f}", model.error.geomean_ratio)});
  }
  return table.to_string();
}

int run(Request request) {
  bool emulated = false;
  std::string device_name;
  {
    const MeasuringDevice device(device_options(request.device));
    const DeviceModel& model = model_of(device.info());
    request.compile.architectures = {std::string(model.architecture)};
    request.compile.target = model.name;
    emulated = device.info().emulated;
    device_name = device.info().name;
  }
  std::vector<ModelTimes> models;
  for (const std::filesystem::path& model : request.models) {
    models.push_back(time_model(model, request, emulated));
  }
  if (request.json) {
    Json json;
    json["measured_on"] = device_name;
    json["clock"] = emulated ? "emulator" : "device";
    json["device"] = request.compile.target;
    json["calibrated"] = !request.compile.calibrations.empty();
    for (const ModelTimes& model : models) json["models"][model.name] = json_of(model);
    std::printf("%s\n", json.dump().c_str());
    return 0;
  }
  std::printf("%s\n%s on %s, %d repetitions%s\n", table_of(models).c_str(),
              request.compile.target.c_str(), device_name.c_str(), request.repetitions,
              emulated ? "; the emulator's clock is the host's: it says nothing of a GPU" : "");
  return 0;
}

}  // namespace
}  // namespace stitch::bench

int main(int argc, char** argv) {
  stitch::bench::Request request;
  CLI::App app("Measured times of kernels against predicted ones", "measured_times");
  app.add_option("models", request.models, "folders with model.onnx")->required();
  app.add_option("--device", request.device, "gpu, gpu:1, emulator, emulator:sm_90");
  app.add_option("--repetitions", request.repetitions, "of each model")->check(CLI::Range(1, 1001));
  app.add_option("--calibration", request.compile.calibrations, "costs to predict with");
  app.add_flag("--json", request.json, "one JSON object on stdout");
  stitch::add_binding_flags(app, request.model);
  CLI11_PARSE(app, argc, argv);
  try {
    return stitch::bench::run(request);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
