// ONNX's own node tests: every one within scope passes, except those that node_test_exceptions.tsv
// lists with a reason.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "onnx/node_test.h"
#include "support/catch.h"

namespace stitch {
namespace {

struct Exception {
  std::string prefix;  // of test names
  std::string reason;
  bool was_needed = false;
};

std::vector<Exception> read_exceptions() {
  std::vector<Exception> exceptions;
  std::ifstream file(std::string(STITCH_SOURCE_DIR) + "/tests/onnx/node_test_exceptions.tsv");
  std::string line;
  while (std::getline(file, line)) {
    const size_t tab = line.find('\t');
    if (line.starts_with("#") || tab == std::string::npos) continue;
    exceptions.push_back({line.substr(0, tab), line.substr(tab + 1)});
  }
  return exceptions;
}

std::string node_tests_folder() {
  if (const char* folder = std::getenv("STITCH_NODE_TESTS_DIR")) return folder;
  return STITCH_NODE_TESTS_DIR;
}

}  // namespace

TEST_CASE("node tests of ONNX pass, except those listed with a reason") {
  const std::string root = node_tests_folder();
  if (root.empty() || !std::filesystem::is_directory(root)) {
    WARN("skipped: STITCH_NODE_TESTS_DIR names no folder of ONNX's node tests");
    return;
  }
  std::vector<Exception> exceptions = read_exceptions();
  REQUIRE(!exceptions.empty());
  int passed = 0, excepted = 0, out_of_scope = 0;
  for (const auto& folder : node_test_folders(root)) {
    const std::string name = node_test_name(folder);
    const NodeTestResult result = run_node_test(folder);
    switch (result.outcome) {
      case NodeTestOutcome::kPassed:
        ++passed;
        continue;
      case NodeTestOutcome::kOutOfScope:
        ++out_of_scope;
        continue;
      case NodeTestOutcome::kUnsupported:
      case NodeTestOutcome::kFailed:
        break;
    }
    bool listed = false;
    for (Exception& exception : exceptions) {
      if (!name.starts_with(exception.prefix)) continue;
      listed = exception.was_needed = true;
    }
    ++excepted;
    INFO(name << ": " << result.reason);
    CHECK(listed);
  }
  for (const Exception& exception : exceptions) {
    INFO("no test that begins with '" << exception.prefix << "' needs its exception any more");
    CHECK(exception.was_needed);
  }
  WARN(passed << " passed, " << excepted << " excepted, " << out_of_scope << " out of scope");
  CHECK(passed > 0);
}

}  // namespace stitch
