#include "onnx/model_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "frontend/import_onnx.h"
#include "frontend/signature.h"
#include "frontend/tensor_file.h"

namespace stitch {
namespace {

std::vector<Tensor> read_tensors(const std::filesystem::path& folder, const std::string& kind) {
  std::vector<Tensor> tensors;
  for (int i = 0;; ++i) {
    const auto path = folder / fmt::format("{}_{}.pb", kind, i);
    if (!std::filesystem::exists(path)) return tensors;
    tensors.push_back(read_tensor_pb(path));
  }
}

// Older data files hold bfloat16 as the uint16 of its bits.
Tensor as_declared(const Tensor& tensor, std::optional<DType> dtype) {
  if (dtype != DType::kBF16 || tensor.dtype() != DType::kU16) return tensor;
  Tensor bits(DType::kBF16, tensor.extents());
  std::copy(tensor.bytes().begin(), tensor.bytes().end(), bits.mutable_bytes().begin());
  return bits;
}

double allowed_error(DType dtype, const OutputTolerance& tolerance) {
  switch (dtype) {
    case DType::kF16:
      return tolerance.f16;
    case DType::kBF16:
      return tolerance.bf16;
    case DType::kF32:
      return tolerance.f32;
    case DType::kF64:
      return tolerance.f64;
    case DType::kBool:
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
      return 0;
  }
  return 0;
}

std::string compare_whole_numbers(const Tensor& actual, const Tensor& expected, int64_t quanta) {
  const bool quantised = expected.dtype() == DType::kI8 || expected.dtype() == DType::kU8;
  int64_t wrong = 0;
  for (int64_t i = 0; i < expected.element_count(); ++i) {
    const int64_t difference = std::abs(actual.integer(i) - expected.integer(i));
    wrong += difference > (quantised ? quanta : 0) ? 1 : 0;
  }
  if (wrong == 0) return {};
  return fmt::format("{} of {} values differ", wrong, expected.element_count());
}

OutputTolerance without_roundings(OutputTolerance tolerance, const Graph& graph) {
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const DType dtype = graph.type(ValueId(i)).dtype;
    if (!is_half(dtype)) continue;
    tolerance.f32 = std::max(tolerance.f32, allowed_error(dtype, tolerance));
  }
  return tolerance;
}

}  // namespace

std::vector<DataSet> read_data_sets(const std::filesystem::path& model_folder) {
  std::vector<DataSet> sets;
  for (const auto& entry : std::filesystem::directory_iterator(model_folder)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || !name.starts_with("test_data_set_")) continue;
    sets.push_back(
        {name, read_tensors(entry.path(), "input"), read_tensors(entry.path(), "output")});
  }
  std::sort(sets.begin(), sets.end(),
            [](const DataSet& a, const DataSet& b) { return a.name < b.name; });
  return sets;
}

std::string compare_output(const Tensor& actual, const Tensor& expected,
                           const OutputTolerance& tolerance) {
  if (actual.extents() != expected.extents()) {
    return fmt::format("shape [{}], expected [{}]", fmt::join(actual.extents(), ","),
                       fmt::join(expected.extents(), ","));
  }
  const bool both_float = is_float(actual.dtype()) && is_float(expected.dtype());
  if (actual.dtype() != expected.dtype() && !(both_float && actual.dtype() == DType::kF64)) {
    return fmt::format("type {}, expected {}", long_name(actual.dtype()),
                       long_name(expected.dtype()));
  }
  if (!both_float) return compare_whole_numbers(actual, expected, tolerance.quanta);
  double largest = 1e-6;
  double error = 0;
  bool within_onnx_rule = tolerance.absolute > 0 || tolerance.relative > 0;
  for (int64_t i = 0; i < expected.element_count(); ++i) {
    const double e = expected.real(i);
    const double a = actual.real(i);
    if (std::isnan(e) != std::isnan(a)) return fmt::format("NaN in other places, first at {}", i);
    if (std::isinf(e) || std::isinf(a)) {
      if (a != e) return fmt::format("{} at {}, expected {}", a, i, e);
    } else if (!std::isnan(e)) {
      largest = std::max(largest, std::fabs(e));
      error = std::max(error, std::fabs(a - e));
      within_onnx_rule = within_onnx_rule &&
                         std::fabs(a - e) <= tolerance.absolute + tolerance.relative * std::fabs(e);
    }
  }
  const double allowed = allowed_error(expected.dtype(), tolerance);
  if (within_onnx_rule || error / largest <= allowed) return {};
  return fmt::format("error {:.2e}, allowed {:.0e}", error / largest, allowed);
}

std::vector<std::string> run_model(const std::filesystem::path& folder, const RunOptions& options) {
  std::vector<std::string> faults;
  const auto file = folder / "model.onnx";
  const ModelSignature signature = read_signature(file);
  auto sets = read_data_sets(folder);
  for (DataSet& set : sets) {
    for (size_t i = 0; i < std::min(set.inputs.size(), signature.inputs.size()); ++i) {
      set.inputs[i] = as_declared(set.inputs[i], signature.inputs[i].dtype);
    }
    for (size_t i = 0; i < std::min(set.outputs.size(), signature.outputs.size()); ++i) {
      set.outputs[i] = as_declared(set.outputs[i], signature.outputs[i].dtype);
    }
    std::map<std::string, Tensor> inputs;
    for (size_t i = 0; i < std::min(set.inputs.size(), signature.inputs.size()); ++i) {
      inputs[signature.inputs[i].name] = set.inputs[i];
    }
    ImportOptions import_options;
    import_options.dims = bind_dims(signature, inputs);
    for (const std::string& name : options.bound_inputs) {
      import_options.bound_inputs[name] = inputs.at(name);
      inputs.erase(name);
    }
    const Graph graph = import_onnx(file, import_options).graph;
    for (const EvaluationPrecision precision : options.precisions) {
      const auto outputs = evaluate(graph, inputs, precision);
      const bool in_f64 = precision == EvaluationPrecision::kF64;
      const char* label = in_f64 ? " in float64" : "";
      const OutputTolerance tolerance =
          in_f64 ? without_roundings(options.tolerance, graph) : options.tolerance;
      if (outputs.size() != set.outputs.size()) {
        faults.push_back(fmt::format("{}{}: {} outputs, expected {}", set.name, label,
                                     outputs.size(), set.outputs.size()));
        continue;
      }
      for (size_t i = 0; i < outputs.size(); ++i) {
        const std::string fault = compare_output(outputs[i], set.outputs[i], tolerance);
        if (!fault.empty()) {
          faults.push_back(fmt::format("{}/output_{}{}: {}", set.name, i, label, fault));
        }
      }
    }
  }
  return faults;
}

OutputTolerance corpus_tolerance(const std::string& model_name) {
  OutputTolerance tolerance;
  if (model_name.find("fp16") != std::string::npos) tolerance.f32 = tolerance.f16;
  if (model_name.find("int8") != std::string::npos) {
    tolerance.f16 = tolerance.f32 = tolerance.f64 = tolerance.bf16 = 2e-2;
  }
  return tolerance;
}

std::vector<std::string> corpus_models(const std::filesystem::path& small_folder,
                                       const std::string& milestone) {
  std::vector<std::string> names;
  std::ifstream table(small_folder / "milestones.tsv");
  std::string line;
  std::getline(table, line);  // the header
  while (std::getline(table, line)) {
    std::istringstream fields(line);
    std::string name, of_model;
    std::getline(fields, name, '\t');
    std::getline(fields, of_model, '\t');
    if (of_model == milestone) names.push_back(name);
  }
  return names;
}

}  // namespace stitch
