// Importer and evaluator against the recorded outputs of real models.
#include <fmt/format.h>

#include <cstdlib>
#include <string>

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

void check_milestone(const std::string& milestone) {
  const auto corpus = shared_corpus();
  if (!corpus) return;
  const char* filter = std::getenv("STITCH_TEST_MODEL");  // part of a name
  const auto folder = *corpus / "small";
  for (const std::string& name : corpus_models(folder, milestone)) {
    if (filter && name.find(filter) == std::string::npos) continue;
    RunOptions options;
    options.tolerance = corpus_tolerance(name);
    options.precisions = {EvaluationPrecision::kNative, EvaluationPrecision::kF64};
    INFO(name);
    CHECK(faults_of(folder / name, options) == "");
  }
}

}  // namespace

TEST_CASE("trail models give their recorded outputs in native and in float64 arithmetic") {
  check_milestone("trail");
}

}  // namespace stitch
