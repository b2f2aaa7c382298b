#include "verify_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "compile_model.h"
#include "data_set.h"
#include "emit_cuda/bundle/write_bundle.h"
#include "emulated_driver.h"
#include "emulator/private_folder.h"
#include "graph/error.h"
#include "graph/evaluate.h"
#include "model_hash.h"
#include "runtime/launcher_error.h"
#include "runtime/runner/loaded_bundle.h"

namespace stitch {
namespace fs = std::filesystem;

namespace {

fs::path model_file(const fs::path& target) {
  const fs::path model = fs::is_directory(target) ? target / "model.onnx" : target;
  if (!fs::exists(model)) throw ModelError(fmt::format("there is no '{}'", model.string()));
  return fs::absolute(model);  // data sets are looked for beside it
}

std::vector<fs::path> chosen_data_sets(const VerifyRequest& request, const fs::path& model) {
  std::vector<fs::path> sets = find_data_sets(model.parent_path());
  if (request.data.empty()) return sets;
  if (fs::is_directory(request.data)) return {request.data};
  std::erase_if(sets, [&](const fs::path& set) { return set.filename() != request.data; });
  if (sets.empty())
    throw ModelError(
        fmt::format("there is no data set '{}' beside '{}'", request.data, model.string()));
  return sets;
}

// Binds the inputs that the problems name; false when there is none that is not bound already.
bool bind_named_inputs(const std::vector<ImportProblem>& problems, const DataSet& set,
                       ImportOptions& options) {
  bool bound = false;
  for (const ImportProblem& problem : problems)
    for (const std::string& name : problem.inputs_to_bind) {
      const auto input = set.inputs.find(name);
      if (input != set.inputs.end()) bound |= options.bound_inputs.insert(*input).second;
    }
  return bound;
}

// Inputs whose values decide shapes (axes, lengths of ranges) have to be constants: the import says
// which, and a data set has their values.
void import_for(const DataSet& set, const fs::path& model, const CompileFlags& flags,
                Console& console, ImportOptions& options, CompiledModel& compiled) {
  for (;;) {
    try {
      import_model(model, options, flags, console, compiled);
      return;
    } catch (const ImportError& error) {
      if (!bind_named_inputs(error.problems(), set, options)) throw;
    }
  }
}

// The model compiled for one set of input shapes, as a bundle in a private folder, and opened.
class Specimen {
 public:
  Specimen(const VerifyRequest& request, const fs::path& model, const DimBindings& dims,
           const DataSet& first, Console& console) {
    ImportOptions import = request.import;
    for (const auto& [name, value] : dims) import.dims.emplace(name, value);
    import_for(first, model, request.compile, console, import, compiled_);
    binds_inputs_ = !import.bound_inputs.empty();
    plan_model(request.compile, console, compiled_);
    build_kernels(request.compile, request.checks ? HostImages::kChecked : HostImages::kPlain,
                  console, compiled_);
    const BundleContents contents =
        bundle_contents(compiled_, bundle_name_for(model, ""), model_hash(model), request.compile);
    const fs::path bundle = folder_.path() / "bundle";
    if (!write_bundle(contents, bundle).libraries_built)
      throw DeviceError("verify needs a host compiler (c++ and ar on PATH) to build the launcher");
    runtime::RunnerOptions options;
    options.driver_file = emulated_driver_file();
    options.emulator.architecture = compiled_.architectures.front().plan.architecture;
    options.emulator.check = request.checks;
    options.emulator.order = runtime::ThreadOrder::kRandom;
    options.emulator.seed = request.seed;
    bundle_ = std::make_unique<runtime::LoadedBundle>(bundle, options);
  }

  DataSetVerdict run(const DataSet& set) {
    DataSetVerdict verdict;
    verdict.name = set.name;
    std::vector<std::span<const std::byte>> inputs;
    for (const runtime::TensorInfo& input : bundle_->inputs())
      inputs.push_back(set.inputs.at(input.name).bytes());
    const size_t reports_before = bundle_->reports().size();
    std::vector<std::vector<std::byte>> outputs;
    try {
      outputs = bundle_->run(inputs);
    } catch (const runtime::LauncherError&) {
      // A launch that the checker ended: its report says more than the driver's error.
      add_reports(reports_before, verdict);
      if (verdict.reports.empty()) throw;
      return verdict;
    }
    const auto native = evaluate(compiled_.graph, set.inputs, EvaluationPrecision::kNative);
    const auto fp64 = evaluate(compiled_.graph, set.inputs, EvaluationPrecision::kF64);
    const std::vector<GraphOutput>& names = compiled_.graph.outputs();
    for (size_t i = 0; i < outputs.size(); ++i) {
      const ValueType& type = compiled_.graph.type(names[i].value);
      const Tensor actual(type.dtype, constant_extents(type.shape), outputs[i], nullptr);
      verdict.outputs.push_back(
          check_output(names[i].name, actual,
                       {&fp64[i], i < set.outputs.size() ? &set.outputs[i] : nullptr, &native[i],
                        narrowest_rounding(compiled_.graph, names[i].value)}));
    }
    add_reports(reports_before, verdict);
    return verdict;
  }

  // A specimen whose inputs became constants serves no other data set.
  bool binds_inputs() const { return binds_inputs_; }
  PlanCounts counts() const { return count_plan(compiled_.architectures.front().plan); }

 private:
  void add_reports(size_t from, DataSetVerdict& verdict) const {
    const auto reports = bundle_->reports();
    for (size_t i = from; i < reports.size(); ++i) verdict.reports.push_back(reports[i].text);
  }

  PrivateFolder folder_;
  bool binds_inputs_ = false;
  CompiledModel compiled_;
  std::unique_ptr<runtime::LoadedBundle> bundle_;
};

}  // namespace

bool DataSetVerdict::passed() const {
  return reports.empty() && std::all_of(outputs.begin(), outputs.end(),
                                        [](const OutputVerdict& output) { return output.passed; });
}

bool VerifyResult::passed() const {
  return leaks.empty() && std::all_of(data_sets.begin(), data_sets.end(),
                                      [](const DataSetVerdict& set) { return set.passed(); });
}

size_t VerifyResult::report_count() const {
  size_t count = leaks.size();
  for (const DataSetVerdict& set : data_sets) count += set.reports.size();
  return count;
}

VerifyResult verify_model(const VerifyRequest& request, Console& console) {
  const fs::path model = model_file(request.target);
  const ModelSignature signature = read_signature(model);
  std::vector<DataSet> sets;
  for (const fs::path& folder : chosen_data_sets(request, model))
    sets.push_back(read_data_set(folder, signature));
  if (sets.empty()) sets.push_back(draw_data_set(signature, request.import.dims, request.seed));

  VerifyResult result;
  std::map<std::vector<std::vector<int64_t>>, std::unique_ptr<Specimen>> specimens;
  try {
    for (const DataSet& set : sets) {
      std::vector<std::vector<int64_t>> shapes;
      for (const DeclaredTensor& input : signature.inputs)
        shapes.push_back(set.inputs.at(input.name).extents());
      std::unique_ptr<Specimen>& specimen = specimens[shapes];
      if (!specimen || specimen->binds_inputs()) {
        specimen = std::make_unique<Specimen>(request, model, bind_dims(signature, set.inputs), set,
                                              console);
        if (result.data_sets.empty()) result.counts = specimen->counts();
      }
      result.data_sets.push_back(specimen->run(set));
    }
    specimens.clear();
    if (request.checks)
      for (const runtime::EmulatorReport& leak :
           runtime::leaked_memory({.driver_file = emulated_driver_file()}))
        result.leaks.push_back(leak.text);
  } catch (const runtime::LauncherError& error) {
    throw DeviceError(error.what());
  }
  return result;
}

}  // namespace stitch
