// The access graph of real models, before and after absorption, against the recorded outputs.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "frontend/import_onnx.h"
#include "frontend/signature.h"
#include "graph/passes.h"
#include "onnx/model_runner.h"
#include "planner/absorb/absorb.h"
#include "planner/access_evaluator.h"
#include "support/catch.h"
#include "support/shared_corpus.h"

namespace stitch {
namespace {

// Small enough to be evaluated point by point; together they have every kind of node but scans.
const std::vector<std::string> kModels = {
    "attention_mask_ts14", "bert_eager_ts11",         "clip_ts14", "convnext_ts14", "dcgan_ts13",
    "gpt2_ts14",           "groupnorm_silu_dynamo21",
};

std::map<std::string, Tensor> inputs_of(const ModelSignature& signature, const DataSet& set) {
  std::map<std::string, Tensor> inputs;
  for (size_t i = 0; i < std::min(set.inputs.size(), signature.inputs.size()); ++i) {
    inputs[signature.inputs[i].name] = set.inputs[i];
  }
  return inputs;
}

void check_outputs(const AccessGraph& access, const std::map<std::string, Tensor>& inputs,
                   const DataSet& set, const OutputTolerance& tolerance) {
  const std::vector<Tensor> outputs = evaluate_access(access, inputs);
  REQUIRE(outputs.size() == set.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    CHECK(compare_output(outputs[i], set.outputs[i], tolerance) == "");
  }
}

}  // namespace

TEST_CASE("reads of real models give the recorded outputs before and after absorption") {
  const auto corpus = shared_corpus();
  if (!corpus) return;
  for (const std::string& name : kModels) {
    INFO(name);
    const auto folder = *corpus / "small" / name;
    const ModelSignature signature = read_signature(folder / "model.onnx");
    const std::vector<DataSet> sets = read_data_sets(folder);
    REQUIRE(!sets.empty());
    const auto inputs = inputs_of(signature, sets[0]);
    ImportOptions options;
    options.dims = bind_dims(signature, inputs);
    const Graph graph = run_passes(import_onnx(folder / "model.onnx", options).graph);
    AccessGraph access = build_access_graph(graph);
    check_outputs(access, inputs, sets[0], corpus_tolerance(name));
    absorb_layouts(access, find_device("a100", ""));
    check_outputs(access, inputs, sets[0], corpus_tolerance(name));
  }
}

}  // namespace stitch
