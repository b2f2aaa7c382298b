// One of ONNX's own node tests: a model of one operator with its data.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace stitch {

enum class NodeTestOutcome { kPassed, kOutOfScope, kUnsupported, kFailed };

struct NodeTestResult {
  NodeTestOutcome outcome = NodeTestOutcome::kPassed;
  std::string reason;  // why it did not pass
};

// Inputs that shapes depend on are bound as constants, as the importer's help line says.
NodeTestResult run_node_test(const std::filesystem::path& folder);

// "softmax_axis_1" for the folder test_softmax_axis_1.
std::string node_test_name(const std::filesystem::path& folder);
// The operator of a model of one node; "expanded" for the body of one as a model.
std::string node_test_operator(const std::filesystem::path& folder);
// Folders of a directory written by write_node_tests.py, sorted.
std::vector<std::filesystem::path> node_test_folders(const std::filesystem::path& root);

}  // namespace stitch
