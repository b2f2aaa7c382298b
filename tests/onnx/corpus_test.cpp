// Importer and evaluator against the recorded outputs of real models.
#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/error.h"
#include "onnx/model_runner.h"
#include "support/catch.h"
#include "support/shared_corpus.h"

namespace stitch {
namespace {

std::string faults_of(const std::filesystem::path& folder, const RunOptions& options) {
  try {
    return fmt::format("{}", fmt::join(run_model(folder, options), "; "));
  } catch (const ModelError& error) {
    return error.what();
  }
}

// Inputs on which extents depend: the model is compiled for their values.
const std::map<std::string, std::vector<std::string>> kBoundInputs = {
    {"conformer_dynamo18", {"lengths"}},  // arange(max(lengths))
    {"greedy_loop_script16", {"steps"}},  // trips of a loop
    {"loop_if_script14", {"steps"}},
    {"loop_if_script17", {"steps"}},
};

// Models in which a rounding decides an integer, so that float64 decides differently.
const std::set<std::string> kNativeOnly = {
    "t5_encoder_ts13_dyn",  // the bucket of a distance: log(d / 8) / log(16) * 8, truncated
};

// Models of the coverage milestone that are not imported yet, and why.
const std::map<std::string, std::string> kUnsupported = {
    {"yolo_like_nms_ts14",
     "node '/NonMaxSuppression' (NonMaxSuppression): output size depends on data"},
};

void check_milestone(const std::string& milestone, bool in_f64) {
  const auto corpus = shared_corpus();
  if (!corpus) return;
  const char* filter = std::getenv("STITCH_TEST_MODEL");  // part of a name
  const auto folder = *corpus / "small";
  for (const std::string& name : corpus_models(folder, milestone)) {
    if (filter && name.find(filter) == std::string::npos) continue;
    RunOptions options;
    options.tolerance = corpus_tolerance(name);
    if (in_f64 && !kNativeOnly.contains(name)) {
      options.precisions.push_back(EvaluationPrecision::kF64);
    }
    const auto bound = kBoundInputs.find(name);
    if (bound != kBoundInputs.end()) options.bound_inputs = bound->second;
    const auto unsupported = kUnsupported.find(name);
    INFO(name);
    CHECK(faults_of(folder / name, options) ==
          (unsupported == kUnsupported.end() ? "" : unsupported->second));
  }
}

}  // namespace

TEST_CASE("trail models give their recorded outputs in native and in float64 arithmetic") {
  check_milestone("trail", true);
}

TEST_CASE("coverage models give their recorded outputs, except those that are not supported") {
  check_milestone("coverage", false);
}

}  // namespace stitch
