// The corpus' graphs of one pattern each, at the sizes of the papers: one kernel that moves each
// input and output once, and right on the emulator with all checks.
#include <set>

#include "frontend/import_onnx.h"
#include "graph/passes.h"
#include "model_verdict.h"
#include "plan_counts.h"
#include "support/catch.h"
#include "support/shared_corpus.h"

namespace stitch {

namespace {

constexpr size_t kGraphs = 14;
// Of the compulsory bytes; partial results of split rows and columns are the rest.
constexpr double kMostTraffic = 1.02;

std::set<std::filesystem::path> micro_graphs(const std::filesystem::path& corpus) {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(corpus / "micro"))
    if (entry.path().extension() == ".onnx") files.insert(entry.path());
  CHECK(files.size() == kGraphs);
  return files;
}

}  // namespace

TEST_CASE("each micro graph is one kernel at the bound of its bytes", "[plan]") {
  const auto corpus = shared_corpus();
  if (!corpus) return;
  for (const auto& file : micro_graphs(*corpus)) {
    for (const char* device : {"v100", "t4", "a100", "a10", "l4", "h100", "h200", "b200"}) {
      INFO(file.filename().string() << " on " << device);
      const Graph graph = run_passes(import_onnx(file).graph);
      PlanOptions options;
      options.device = device;
      const Plan plan = make_plan(graph, options);
      const PlanCounts counts = count_plan(plan);
      CHECK(counts.kernels == 1);
      CHECK(counts.contractions == 0);
      CHECK(static_cast<double>(counts.bytes) <=
            kMostTraffic * static_cast<double>(counts.compulsory_bytes));
    }
  }
}

TEST_CASE("each micro graph is right on the emulator", "[run]") {
  const auto corpus = shared_corpus();
  if (!corpus) return;
  for (const auto& file : micro_graphs(*corpus)) {
    INFO(file.filename().string());
    CHECK(verify_faults(file) == "");
  }
}

}  // namespace stitch
