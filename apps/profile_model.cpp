#include "profile_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bundle_inputs.h"
#include "device_flag.h"
#include "emulated_model.h"
#include "graph/error.h"
#include "model_target.h"
#include "runtime/launcher_error.h"

namespace stitch {
namespace fs = std::filesystem;

namespace {

const ManifestArchitecture& entry_of(const Manifest& manifest, uint32_t architecture) {
  for (const ManifestArchitecture& entry : manifest.architectures)
    if (entry.architecture == architecture) return entry;
  throw InternalError(fmt::format("the manifest has no architecture sm_{}", architecture));
}

// For each kernel of the steps its launch, or null where the twin of its item was launched instead.
std::vector<const runtime::LaunchCounts*> launches_by_kernel(
    const std::vector<runtime::ProgramKernels>& program,
    const std::vector<runtime::LaunchCounts>& counts) {
  std::vector<const runtime::LaunchCounts*> launches;
  size_t next = 0;
  const auto come = [&](const std::vector<std::string>& functions) {
    for (size_t i = 0; i < functions.size(); ++i)
      if (next + i >= counts.size() || counts[next + i].function != functions[i]) return false;
    return true;
  };
  for (const runtime::ProgramKernels& item : program) {
    if (come(item.steps)) {
      for (size_t i = 0; i < item.steps.size(); ++i) launches.push_back(&counts[next++]);
    } else if (come(item.twin)) {
      launches.insert(launches.end(), item.steps.size(), nullptr);
      next += item.twin.size();
    } else {
      throw InternalError("the launches are not those of the launch program");
    }
  }
  return launches;
}

// After a run.
ModelProfile read_profile(const Manifest& manifest, const runtime::LoadedBundle& bundle,
                          const CompileFlags& flags) {
  const ManifestArchitecture& entry = entry_of(manifest, bundle.info().architecture);
  const DeviceModel device = flags.with_calibration(find_device(entry.target, ""));
  ModelProfile profile;
  profile.architecture = fmt::format("sm_{}", entry.architecture);
  profile.device = entry.target;
  profile.dram_gbps = device.dram_gbps;
  profile.contractions = static_cast<int64_t>(entry.contractions.size());
  std::set<std::string> contractions;
  for (const ManifestContraction& contraction : entry.contractions)
    if (contraction.by == "own") contractions.insert(contraction.name);
  const std::vector<runtime::LaunchCounts> counts = bundle.launch_counts();
  for (const runtime::LaunchCounts& count : counts) profile.host_seconds += count.host_seconds;
  const std::vector<const runtime::LaunchCounts*> launches =
      launches_by_kernel(bundle.program_kernels(), counts);
  size_t next = 0;
  for (const ManifestKernel& kernel : entry.kernels) {
    if (kernel.is_twin) continue;
    if (next == launches.size())
      throw InternalError("the launch program has fewer kernels than the manifest");
    KernelProfile one = profile_kernel(kernel, launches[next++], device);
    one.holds_contraction = contractions.contains(kernel.name);
    profile.kernels.push_back(std::move(one));
  }
  return profile;
}

// The first data set beside the model, the one asked for, or one that is drawn.
DataSet data_set_for(const ProfileRequest& request, const fs::path& model,
                     const ModelSignature& signature) {
  const std::vector<fs::path> folders = chosen_data_sets(request.data, model);
  return folders.empty() ? draw_data_set(signature, request.import.dims, request.seed)
                         : read_data_set(folders.front(), signature);
}

ModelProfile profile_onnx(const ProfileRequest& request, Console& console) {
  if (!request.inputs.empty())
    throw ModelError(
        "--input is for a bundle\nhelp: pass --data FOLDER with input_0.pb, input_1.pb, ...");
  const fs::path model = model_file(request.target);
  const ModelSignature signature = read_signature(model);
  const DataSet set = data_set_for(request, model, signature);
  EmulatedModelRequest emulated;
  emulated.model = model;
  emulated.import = request.import;
  emulated.compile = request.compile;
  emulated.emulator.count = true;
  emulated.command = "profile";
  EmulatedModel specimen(emulated, bind_dims(signature, set.inputs), set, console);
  specimen.run(set);
  ModelProfile profile =
      read_profile(read_manifest(specimen.bundle_folder()), specimen.bundle(), request.compile);
  profile.inputs = set.name;
  return profile;
}

// The bundle's inputs as the declaration of a model that has them.
ModelSignature signature_of(const std::vector<runtime::TensorInfo>& inputs) {
  ModelSignature signature;
  for (const runtime::TensorInfo& info : inputs) {
    DeclaredTensor tensor;
    tensor.name = info.name;
    tensor.dtype = dtype_of(info.type);
    tensor.has_shape = true;
    for (const int64_t extent : info.dims) tensor.dims.push_back({extent, ""});
    signature.inputs.push_back(std::move(tensor));
  }
  return signature;
}

// The architecture asked for, or the first, when the bundle can be counted on the emulator.
std::string chosen_architecture(const ProfileRequest& request, const Manifest& manifest) {
  std::string known;
  for (const ManifestArchitecture& entry : manifest.architectures) {
    const std::string name = fmt::format("sm_{}", entry.architecture);
    known += (known.empty() ? "" : ", ") + name;
    if (!request.architecture.empty() && request.architecture != name) continue;
    const bool emulated = std::any_of(entry.images.begin(), entry.images.end(),
                                      [](const ManifestImage& i) { return i.kind == "host"; });
    if (!emulated && !entry.kernels.empty())
      throw ModelError(
          fmt::format("the bundle has no image of {} for the emulator\n"
                      "help: compile the model with --arch {},host",
                      name, name));
    return name;
  }
  throw ModelError(
      fmt::format("the bundle has no architecture '{}'; it holds {}", request.architecture, known));
}

ModelProfile profile_bundle(const ProfileRequest& request) {
  const Manifest manifest = read_manifest(request.target);
  if (!request.data.empty())
    throw ModelError("--data is for a model\nhelp: pass --input NAME=FILE for a bundle");
  runtime::RunnerOptions options =
      device_options("emulator:" + chosen_architecture(request, manifest));
  options.emulator.count = true;
  runtime::LoadedBundle bundle(request.target, options);
  DataSet set;
  if (request.inputs.empty()) {
    set = draw_data_set(signature_of(bundle.inputs()), {}, request.seed);
  } else {
    set.name = "given";
    set.inputs = read_bundle_inputs(request.inputs, bundle.inputs());
  }
  std::vector<std::span<const std::byte>> inputs;
  for (const runtime::TensorInfo& info : bundle.inputs())
    inputs.push_back(set.inputs.at(info.name).bytes());
  bundle.run(inputs);
  ModelProfile profile = read_profile(manifest, bundle, request.compile);
  profile.inputs = set.name;
  return profile;
}

}  // namespace

std::vector<KernelProfile> ModelProfile::memory_intensive() const {
  std::vector<KernelProfile> chosen;
  for (const KernelProfile& kernel : kernels)
    if (!kernel.holds_contraction) chosen.push_back(kernel);
  return chosen;
}

ModelProfile profile_model(const ProfileRequest& request, Console& console) {
  try {
    return is_bundle(request.target) ? profile_bundle(request) : profile_onnx(request, console);
  } catch (const runtime::LauncherError& error) {
    throw DeviceError(error.what());
  }
}

}  // namespace stitch
