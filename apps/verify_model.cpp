#include "verify_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "data_set.h"
#include "emulated_driver.h"
#include "emulated_model.h"
#include "graph/error.h"
#include "graph/evaluate.h"
#include "model_target.h"
#include "runtime/launcher_error.h"

namespace stitch {
namespace fs = std::filesystem;

namespace {

EmulatedModelRequest emulated(const VerifyRequest& request, const fs::path& model) {
  EmulatedModelRequest emulated;
  emulated.model = model;
  emulated.import = request.import;
  emulated.compile = request.compile;
  emulated.emulator.check = request.checks;
  emulated.emulator.order = runtime::ThreadOrder::kRandom;
  emulated.emulator.seed = request.seed;
  emulated.command = "verify";
  return emulated;
}

// The model compiled for one set of input shapes, and its verdicts.
class Specimen {
 public:
  Specimen(const VerifyRequest& request, const fs::path& model, const DimBindings& dims,
           const DataSet& first, Console& console)
      : model_(emulated(request, model), dims, first, console) {}

  DataSetVerdict run(const DataSet& set) {
    DataSetVerdict verdict;
    verdict.name = set.name;
    const size_t reports_before = model_.bundle().reports().size();
    std::vector<std::vector<std::byte>> outputs;
    try {
      outputs = model_.run(set);
    } catch (const runtime::LauncherError&) {
      // A launch that the checker ended: its report says more than the driver's error.
      add_reports(reports_before, verdict);
      if (verdict.reports.empty()) throw;
      return verdict;
    }
    const Graph& graph = model_.compiled().graph;
    const auto native = evaluate(graph, set.inputs, EvaluationPrecision::kNative);
    const auto fp64 = evaluate(graph, set.inputs, EvaluationPrecision::kF64);
    const std::vector<GraphOutput>& names = graph.outputs();
    for (size_t i = 0; i < outputs.size(); ++i) {
      const ValueType& type = graph.type(names[i].value);
      const Tensor actual(type.dtype, constant_extents(type.shape), outputs[i], nullptr);
      verdict.outputs.push_back(
          check_output(names[i].name, actual,
                       {&fp64[i], i < set.outputs.size() ? &set.outputs[i] : nullptr, &native[i],
                        narrowest_rounding(graph, names[i].value)}));
    }
    add_reports(reports_before, verdict);
    return verdict;
  }

  // A specimen whose inputs became constants serves no other data set.
  bool binds_inputs() const { return model_.binds_inputs(); }
  PlanCounts counts() const { return count_plan(model_.compiled().architectures.front().plan); }

 private:
  void add_reports(size_t from, DataSetVerdict& verdict) const {
    const auto reports = model_.bundle().reports();
    for (size_t i = from; i < reports.size(); ++i) verdict.reports.push_back(reports[i].text);
  }

  EmulatedModel model_;
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
  for (const fs::path& folder : chosen_data_sets(request.data, model))
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
