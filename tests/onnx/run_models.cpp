// Development tool: runs model folders through importer and evaluator, one line each.
//
//   run_models [--f64] [--bind INPUT] FOLDER...    FOLDER holds model.onnx and test_data_set_N
//   run_models --import FOLDER...                  only imports, with weights or without, and times
#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <string>

#include "frontend/import_onnx.h"
#include "onnx/model_runner.h"

namespace {

// Milliseconds that the import takes; the problems, if any.
std::string import_only(const std::filesystem::path& folder) {
  const auto start = std::chrono::steady_clock::now();
  stitch::ImportOptions options;
  options.weights_may_be_absent = true;
  std::string text;
  try {
    const stitch::ImportResult result = stitch::import_onnx(folder / "model.onnx", options);
    text = fmt::format("{} ONNX nodes, {} primitives", result.graph.onnx_node_count,
                       result.graph.node_count());
    for (const std::string& note : result.notes) text += "\nnote: " + note;
  } catch (const std::exception& error) {
    text = error.what();
  }
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  return fmt::format("{:.1f} ms, {}", spent.count(), text);
}

}  // namespace

int main(int argc, char** argv) {
  stitch::RunOptions options;
  int failed = 0;
  int passed = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--f64") {
      options.precisions.push_back(stitch::EvaluationPrecision::kF64);
      continue;
    }
    if (argument == "--import") {
      for (++i; i < argc; ++i) fmt::print("{}: {}\n", argv[i], import_only(argv[i]));
      return 0;
    }
    if (argument == "--bind" && i + 1 < argc) {
      options.bound_inputs.emplace_back(argv[++i]);
      continue;
    }
    const std::filesystem::path folder(argument);
    const std::string name = folder.filename().string();
    options.tolerance = stitch::corpus_tolerance(name);
    const auto start = std::chrono::steady_clock::now();
    std::string faults;
    try {
      faults = fmt::format("{}", fmt::join(stitch::run_model(folder, options), "; "));
    } catch (const std::exception& error) {
      faults = error.what();
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    fmt::print("{} {:.2f} s{}{}\n", name, seconds.count(), faults.empty() ? "" : ": ", faults);
    ++(faults.empty() ? passed : failed);
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
