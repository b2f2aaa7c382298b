// Runs recorded ONNX models through importer and evaluator and compares with what was recorded.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "graph/evaluate.h"
#include "graph/tensor.h"

namespace stitch {

// test_data_set_N of a model folder: tensors in the order of the files.
struct DataSet {
  std::string name;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
};
std::vector<DataSet> read_data_sets(const std::filesystem::path& model_folder);

// Error relative to the largest finite magnitude of the tensor.
struct OutputTolerance {
  double f32 = 1e-4;
  double f64 = 1e-7;
  double f16 = 4e-3;
  double bf16 = 2e-2;
  int64_t quanta = 0;  // by which 8-bit integers may differ
  // Besides, elements pass by atol + rtol * |expected| (the rule of ONNX's own tests); 0: off.
  double absolute = 0;
  double relative = 0;
};

// Empty when the two agree: whole numbers and bools exactly, NaN and infinities in the same places.
std::string compare_output(const Tensor& actual, const Tensor& expected,
                           const OutputTolerance& tolerance);

struct RunOptions {
  // In float64 the roundings of 16-bit values are left out: a model that has such values gets their
  // tolerance there.
  OutputTolerance tolerance;
  std::vector<EvaluationPrecision> precisions = {EvaluationPrecision::kNative};
  // Inputs to turn into constants, by name.
  std::vector<std::string> bound_inputs;
};

// What is wrong, one sentence each; empty when every data set agrees.
std::vector<std::string> run_model(const std::filesystem::path& folder, const RunOptions& options);

// The tolerances that the corpus gives to a model of this name (corpus/README.md).
OutputTolerance corpus_tolerance(const std::string& model_name);
// Names of the corpus models of a milestone ("trail", "coverage"), from milestones.tsv.
std::vector<std::string> corpus_models(const std::filesystem::path& small_folder,
                                       const std::string& milestone);

}  // namespace stitch
