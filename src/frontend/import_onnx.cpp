#include "frontend/import_onnx.h"

#include <fmt/format.h>

#include "frontend/count_nodes.h"
#include "frontend/graph_importer.h"
#include "frontend/onnx_model.h"

namespace stitch {
namespace {

// One problem as it is; several as a numbered list.
std::string list_problems(const std::filesystem::path& file,
                          const std::vector<ImportProblem>& problems) {
  if (problems.size() == 1) return to_string(problems.front());
  std::string text = fmt::format("{} problems in '{}':", problems.size(), file.string());
  for (size_t i = 0; i < problems.size(); ++i) {
    text += fmt::format("\n  {}. {}", i + 1, to_string(problems[i], "     "));
  }
  return text;
}

}  // namespace

std::string to_string(const ImportProblem& problem, const std::string& indent) {
  std::string text;
  if (!problem.op.empty()) text = fmt::format("node '{}' ({}): ", problem.node, problem.op);
  text += problem.reason;
  for (const std::string& note : problem.notes) text += fmt::format("\n{}note: {}", indent, note);
  for (const std::string& help : problem.helps) text += fmt::format("\n{}help: {}", indent, help);
  return text;
}

ImportError::ImportError(const std::filesystem::path& model, std::vector<ImportProblem> problems)
    : ModelError(list_problems(model, problems)), problems_(std::move(problems)) {}

ImportResult import_onnx(const std::filesystem::path& file, const ImportOptions& options) {
  const OnnxModel model =
      read_model(file, {.weights_may_be_absent = options.weights_may_be_absent});
  GraphImporter importer(model, options);
  importer.run();
  std::vector<ImportProblem> problems = importer.take_problems();
  if (!problems.empty()) throw ImportError(file, std::move(problems));
  ImportResult result{importer.take_graph(), importer.take_notes()};
  result.graph.onnx_node_count = count_nodes(model);
  return result;
}

CheckReport check_onnx(const std::filesystem::path& file, const ImportOptions& options) {
  const OnnxModel model =
      read_model(file, {.weights_may_be_absent = options.weights_may_be_absent});
  GraphImporter importer(model, options);
  importer.run();
  CheckReport report;
  report.node_count = count_nodes(model);
  const auto opset = model.opsets.find("");
  report.opset = opset == model.opsets.end() ? 0 : opset->second;
  report.problems = importer.take_problems();
  report.notes = importer.take_notes();
  return report;
}

}  // namespace stitch
