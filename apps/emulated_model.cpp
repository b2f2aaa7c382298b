#include "emulated_model.h"

#include "emit_cuda/bundle/write_bundle.h"
#include "emulated_driver.h"
#include "graph/error.h"
#include "model_hash.h"
#include "model_target.h"

namespace stitch {

EmulatedModel::EmulatedModel(const EmulatedModelRequest& request, const DimBindings& dims,
                             const DataSet& set, Console& console) {
  ImportOptions import = request.import;
  for (const auto& [name, value] : dims) import.dims.emplace(name, value);
  import_for_data(set, request.model, request.compile, console, import, compiled_);
  binds_inputs_ = !import.bound_inputs.empty();
  plan_model(request.compile, console, compiled_);
  const bool watches = request.emulator.check || request.emulator.count;
  build_kernels(request.compile, watches ? HostImages::kChecked : HostImages::kPlain, console,
                compiled_);
  const BundleContents contents = bundle_contents(compiled_, bundle_name_for(request.model, ""),
                                                  model_hash(request.model), request.compile);
  if (!write_bundle(contents, bundle_folder()).libraries_built)
    throw DeviceError(request.command +
                      " needs a host compiler (c++ and ar on PATH) to build the launcher");
  runtime::RunnerOptions options;
  options.driver_file = emulated_driver_file();
  options.emulator = request.emulator;
  options.emulator.architecture = compiled_.architectures.front().plan.architecture;
  bundle_ = std::make_unique<runtime::LoadedBundle>(bundle_folder(), options);
}

std::vector<std::vector<std::byte>> EmulatedModel::run(const DataSet& set) {
  std::vector<std::span<const std::byte>> inputs;
  for (const runtime::TensorInfo& input : bundle_->inputs())
    inputs.push_back(set.inputs.at(input.name).bytes());
  return bundle_->run(inputs);
}

}  // namespace stitch
