// stitchc run: one inference of a bundle, on a GPU or on the emulator.
#include <fmt/format.h>

#include <charconv>
#include <map>
#include <memory>
#include <set>

#include "command.h"
#include "console.h"
#include "emit_cuda/bundle/manifest.h"
#include "emulated_driver.h"
#include "exit_code.h"
#include "frontend/name_suggestion.h"
#include "frontend/npy.h"
#include "frontend/tensor_file.h"
#include "graph/error.h"
#include "model_flags.h"
#include "planner/device/device_model.h"
#include "runtime/element_type.h"
#include "runtime/launcher_error.h"
#include "runtime/runner/loaded_bundle.h"

namespace stitch {

namespace {

struct RunFlags {
  std::filesystem::path bundle;
  std::vector<std::string> inputs;  // "ids=ids.npy"
  std::string device = "gpu";       // "gpu", "gpu:1", "emulator", "emulator:sm_90"
  std::filesystem::path output;
  bool protobuf = false;  // outputs as .pb instead of .npy
  ConsoleOptions console;
};

runtime::RunnerOptions runner_options(const std::string& device) {
  runtime::RunnerOptions options;
  const size_t colon = device.find(':');
  const std::string kind = device.substr(0, colon);
  const std::string detail = colon == std::string::npos ? "" : device.substr(colon + 1);
  if (kind == "emulator") {
    if (!detail.empty()) find_device("", detail);  // it names the devices that there are
    options.driver_file = emulated_driver_file();
    options.emulator.architecture = detail;
    return options;
  }
  const char* end = detail.data() + detail.size();
  const auto number = std::from_chars(detail.data(), end, options.device);
  const bool is_number = number.ec == std::errc() && number.ptr == end && options.device >= 0;
  if (kind != "gpu" || (colon != std::string::npos && !is_number))
    throw ModelError(
        fmt::format("--device {}: expected gpu, gpu:NUMBER, emulator or emulator:sm_XX", device));
  return options;
}

DType dtype_of(runtime::ElementType type) {
  const std::string wanted = runtime::element_name(type);
  for (int i = 0; i <= static_cast<int>(DType::kF64); ++i)
    if (long_name(static_cast<DType>(i)) == wanted) return static_cast<DType>(i);
  throw InternalError("the bundle holds an unknown element type");
}

std::map<std::string, Tensor> read_inputs(const RunFlags& flags,
                                          const std::vector<runtime::TensorInfo>& expected) {
  std::vector<std::string> names;
  for (const runtime::TensorInfo& info : expected) names.push_back(info.name);
  std::map<std::string, Tensor> tensors;
  for (const std::string& text : flags.inputs) {
    const NameValue input = split_name_value("--input", text);
    if (std::find(names.begin(), names.end(), input.name) == names.end()) {
      std::string message =
          fmt::format("the model has no input '{}'; it has {}", input.name, fmt::join(names, ", "));
      if (const auto near = nearest_name(input.name, names))
        message += "\nhelp: did you mean '" + *near + "'?";
      throw ModelError(message);
    }
    tensors[input.name] = read_tensor_file(input.value);
  }
  for (const runtime::TensorInfo& info : expected) {
    const auto given = tensors.find(info.name);
    if (given == tensors.end())
      throw ModelError(fmt::format("input '{}' is missing\nhelp: pass --input {}=FILE.npy",
                                   info.name, info.name));
    const DType dtype = dtype_of(info.type);
    if (given->second.dtype() != dtype || given->second.extents() != info.dims)
      throw ModelError(fmt::format("input '{}' is {}[{}]; the bundle was compiled for {}[{}]",
                                   info.name, long_name(given->second.dtype()),
                                   fmt::join(given->second.extents(), ","), long_name(dtype),
                                   fmt::join(info.dims, ",")));
  }
  return tensors;
}

// A file name for each output from the tensor's name, which may hold any characters; its position
// follows where two would be the same.
std::vector<std::string> file_names(const std::vector<runtime::TensorInfo>& outputs) {
  std::vector<std::string> files;
  std::set<std::string> taken;
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string file;
    for (char c : outputs[i].name)
      file += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' ? c : '_';
    if (file.empty() || file[0] == '.') file = "output";
    while (!taken.insert(file).second) file += fmt::format("_{}", i);
    files.push_back(file);
  }
  return files;
}

int run(const RunFlags& flags) {
  Console console(flags.console);
  read_manifest(flags.bundle);  // says so when the folder is no bundle
  const runtime::RunnerOptions options = runner_options(flags.device);
  try {
    runtime::LoadedBundle bundle(flags.bundle, options);
    const auto tensors = read_inputs(flags, bundle.inputs());
    std::vector<std::span<const std::byte>> inputs;
    for (const runtime::TensorInfo& info : bundle.inputs())
      inputs.push_back(tensors.at(info.name).bytes());
    const auto outputs = bundle.run(inputs);
    std::filesystem::create_directories(flags.output);
    const std::vector<std::string> files = file_names(bundle.outputs());
    for (size_t i = 0; i < outputs.size(); ++i) {
      const runtime::TensorInfo& info = bundle.outputs()[i];
      const Tensor tensor(dtype_of(info.type), info.dims, outputs[i], nullptr);
      const auto path = flags.output / (files[i] + (flags.protobuf ? ".pb" : ".npy"));
      if (flags.protobuf)
        write_tensor_pb(path, tensor, info.name);
      else
        write_npy(path, tensor);
      console.line(fmt::format("{}  {}[{}]  {}", info.name, long_name(tensor.dtype()),
                               fmt::join(info.dims, ","), path.string()));
    }
  } catch (const runtime::LauncherError& error) {
    throw DeviceError(error.what());
  }
  const auto leaks = runtime::leaked_memory(options);
  for (const runtime::EmulatorReport& leak : leaks) console.note(leak.text);
  return leaks.empty() ? kDone : kOurBug;
}

}  // namespace

void add_run_command(CLI::App& app, Action& action) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command = app.add_subcommand("run", "run a bundle once on given inputs");
  command->add_option("bundle", flags->bundle, "a folder that stitchc made")
      ->required()
      ->type_name("DIR");
  command->add_option("--input", flags->inputs, ".npy or ONNX .pb file of an input")
      ->type_name("NAME=FILE");
  command->add_option("--device", flags->device, "gpu, gpu:1, emulator, emulator:sm_90")
      ->type_name("DEVICE");
  command->add_option("-o,--output", flags->output, "folder for the outputs")
      ->required()
      ->type_name("DIR");
  command->add_flag("--pb", flags->protobuf, "write ONNX .pb files instead of .npy");
  command->add_flag("-q,--quiet", flags->console.quiet, "print errors only");
  command->footer(
      "Example:\n"
      "  stitchc run bert_bundle --input ids=ids.npy --device emulator -o results");
  command->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace stitch
