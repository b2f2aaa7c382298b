#include "onnx/node_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "frontend/import_onnx.h"
#include "frontend/onnx_model.h"
#include "frontend/signature.h"
#include "frontend/tensor_file.h"
#include "graph/error.h"
#include "onnx/model_runner.h"

namespace stitch {
namespace {

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::vector<std::string> inputs_to_bind(const std::vector<ImportProblem>& problems) {
  std::vector<std::string> names;
  for (const ImportProblem& problem : problems)
    names.insert(names.end(), problem.inputs_to_bind.begin(), problem.inputs_to_bind.end());
  return names;
}

// The number of inputs and outputs that are no tensors of supported elements decides the scope.
std::string out_of_scope(const ModelSignature& signature) {
  for (const auto* list : {&signature.inputs, &signature.outputs}) {
    for (const DeclaredTensor& tensor : *list) {
      if (!tensor.dtype) return fmt::format("'{}' has no supported element type", tensor.name);
    }
  }
  return {};
}

bool is_unsupported(const ImportProblem& problem) {
  for (const char* text : {"not supported", "depends on data", "the operator exists from"}) {
    if (contains(problem.reason, text)) return true;
  }
  return false;
}

}  // namespace

std::string node_test_name(const std::filesystem::path& folder) {
  std::string name = folder.filename().string();
  return name.starts_with("test_") ? name.substr(5) : name;
}

std::string node_test_operator(const std::filesystem::path& folder) {
  const OnnxModel model = read_model(folder / "model.onnx");
  return model.graph.nodes.size() == 1 ? model.graph.nodes.front().op_type : "expanded";
}

std::vector<std::filesystem::path> node_test_folders(const std::filesystem::path& root) {
  std::vector<std::filesystem::path> folders;
  const auto nodes = std::filesystem::is_directory(root / "node") ? root / "node" : root;
  for (const auto& entry : std::filesystem::directory_iterator(nodes)) {
    if (std::filesystem::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

NodeTestResult run_node_test(const std::filesystem::path& folder) {
  RunOptions options;
  // ONNX's rule for these tests is rtol 1e-3, atol 1e-7; a row of magnitude m may be off by 1e-5 m.
  options.tolerance = {
      .f32 = 1e-5, .f64 = 1e-7, .f16 = 1e-3, .bf16 = 8e-3, .absolute = 1e-7, .relative = 1e-3};
  try {
    const ModelSignature signature = read_signature(folder / "model.onnx");
    if (auto reason = out_of_scope(signature); !reason.empty()) {
      return {NodeTestOutcome::kOutOfScope, reason};
    }
    const auto sets = read_data_sets(folder);
    for (int attempt = 0; attempt < 8; ++attempt) {
      std::map<std::string, Tensor> inputs;
      for (size_t i = 0; i < std::min(sets.at(0).inputs.size(), signature.inputs.size()); ++i) {
        inputs[signature.inputs[i].name] = sets[0].inputs[i];
      }
      ImportOptions import_options;
      import_options.dims = bind_dims(signature, inputs);
      for (const std::string& name : options.bound_inputs) {
        import_options.bound_inputs[name] = inputs.at(name);
      }
      const CheckReport report = check_onnx(folder / "model.onnx", import_options);
      if (report.problems.empty()) break;
      const auto names = inputs_to_bind(report.problems);
      if (names.empty()) {
        const bool unsupported =
            std::all_of(report.problems.begin(), report.problems.end(), is_unsupported);
        return {unsupported ? NodeTestOutcome::kUnsupported : NodeTestOutcome::kFailed,
                to_string(report.problems.front())};
      }
      for (const std::string& name : names) {
        if (std::find(options.bound_inputs.begin(), options.bound_inputs.end(), name) ==
            options.bound_inputs.end()) {
          options.bound_inputs.push_back(name);
        }
      }
    }
    const auto faults = run_model(folder, options);
    if (faults.empty()) return {};
    return {NodeTestOutcome::kFailed, fmt::format("{}", fmt::join(faults, "; "))};
  } catch (const std::exception& error) {
    return {NodeTestOutcome::kFailed, error.what()};
  }
}

}  // namespace stitch
