// Development tool: runs ONNX's node tests and prints a line for each that does not pass, then the
// counts.
//
//   run_node_tests ROOT [part of a name]
//   run_node_tests ROOT --operators         a table of counts by operator
#include <fmt/format.h>

#include <map>
#include <string>

#include "onnx/node_test.h"

namespace {

void print_operators(const std::filesystem::path& root) {
  using stitch::NodeTestOutcome;
  std::map<std::string, std::map<NodeTestOutcome, int>> counts;
  for (const auto& folder : stitch::node_test_folders(root)) {
    ++counts[stitch::node_test_operator(folder)][stitch::run_node_test(folder).outcome];
  }
  fmt::print("{:32} {:>7} {:>7} {:>12} {:>13}\n", "operator", "passed", "failed", "unsupported",
             "out of scope");
  for (auto& [name, of] : counts) {
    fmt::print("{:32} {:7} {:7} {:12} {:13}\n", name, of[NodeTestOutcome::kPassed],
               of[NodeTestOutcome::kFailed], of[NodeTestOutcome::kUnsupported],
               of[NodeTestOutcome::kOutOfScope]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: run_node_tests ROOT [part of a name]\n");
    return 64;
  }
  using stitch::NodeTestOutcome;
  const std::string filter = argc > 2 ? argv[2] : "";
  if (filter == "--operators") {
    print_operators(argv[1]);
    return 0;
  }
  std::map<NodeTestOutcome, int> counts;
  for (const auto& folder : stitch::node_test_folders(argv[1])) {
    const std::string name = stitch::node_test_name(folder);
    if (name.find(filter) == std::string::npos) continue;
    const auto result = stitch::run_node_test(folder);
    ++counts[result.outcome];
    const char* label = nullptr;
    switch (result.outcome) {
      case NodeTestOutcome::kPassed:
        break;
      case NodeTestOutcome::kOutOfScope:
        label = "out of scope";
        break;
      case NodeTestOutcome::kUnsupported:
        label = "unsupported";
        break;
      case NodeTestOutcome::kFailed:
        label = "FAILED";
        break;
    }
    if (label) fmt::print("{:12} {}: {}\n", label, name, result.reason);
  }
  fmt::print("{} passed, {} failed, {} unsupported, {} out of scope\n",
             counts[NodeTestOutcome::kPassed], counts[NodeTestOutcome::kFailed],
             counts[NodeTestOutcome::kUnsupported], counts[NodeTestOutcome::kOutOfScope]);
  return counts[NodeTestOutcome::kFailed] == 0 ? 0 : 1;
}
