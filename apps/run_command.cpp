// stitchc run: one inference of a bundle, on a GPU or on the emulator.
#include <fmt/format.h>

#include <memory>
#include <set>

#include "bundle_inputs.h"
#include "command.h"
#include "console.h"
#include "device_flag.h"
#include "emit_cuda/bundle/manifest.h"
#include "exit_code.h"
#include "frontend/npy.h"
#include "frontend/tensor_file.h"
#include "graph/error.h"
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
  const runtime::RunnerOptions options = device_options(flags.device);
  try {
    runtime::LoadedBundle bundle(flags.bundle, options);
    const auto tensors = read_bundle_inputs(flags.inputs, bundle.inputs());
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
