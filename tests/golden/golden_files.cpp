// Compares the kernels emitted for *.graph with the texts kept beside them; --update replaces
// those. What docs/emitted_kernels.md quotes has to be one of these texts.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <vector>

#include "emit_cuda/emit_kernel.h"
#include "graph/text_form.h"
#include "planner/make_plan.h"

namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// "softmax.sm_90.graph" is for an H100, "softmax.graph" for an A100.
std::string architecture_of(const fs::path& graph_file) {
  const std::string named = graph_file.stem().extension().string();
  return named.empty() ? "sm_80" : named.substr(1);
}

// All kernels of the graph, stitched, our own contractions.
std::string emitted_text(const fs::path& graph_file) {
  const stitch::Graph graph = stitch::parse_graph(read_file(graph_file));
  stitch::PlanOptions options;
  options.architecture = architecture_of(graph_file);
  options.contractions = stitch::ContractionMode::kOwn;
  const stitch::Plan plan = stitch::make_plan(graph, options);
  std::string text;
  for (const stitch::KernelSource& kernel : stitch::emit_kernels(plan)) {
    text += (text.empty() ? "" : "\n") + kernel.text;
  }
  return text;
}

// The first line that differs, with its number.
std::string first_difference(const std::string& expected, const std::string& actual) {
  std::istringstream a(expected), b(actual);
  std::string line_a, line_b;
  for (int line = 1;; ++line) {
    const bool more_a = static_cast<bool>(std::getline(a, line_a));
    const bool more_b = static_cast<bool>(std::getline(b, line_b));
    if (!more_a) line_a.clear();
    if (!more_b) line_b.clear();
    if (line_a != line_b || more_a != more_b) {
      return "line " + std::to_string(line) + "\n  kept    " + line_a + "\n  emitted " + line_b;
    }
    if (!more_a) return "nothing";
  }
}

// Quoted kernels ("```cuda") that are no part of any kept text; says which, and that there are any.
int stale_quotations(const std::vector<std::string>& kept) {
  const std::string open = "```cuda\n", close = "```";
  const std::string document = read_file(STITCH_EMITTED_KERNELS_DOCUMENT);
  int stale = 0, found = 0;
  for (size_t at = document.find(open); at != std::string::npos; at = document.find(open, at)) {
    at += open.size();
    const std::string quoted = document.substr(at, document.find(close, at) - at);
    ++found;
    const bool known = std::any_of(kept.begin(), kept.end(), [&](const std::string& text) {
      return text.find(quoted) != std::string::npos;
    });
    if (known) continue;
    ++stale;
    std::cout << "docs/emitted_kernels.md quotes a kernel that is emitted otherwise now: "
              << quoted.substr(0, quoted.find('\n')) << "\n";
  }
  if (found == 0) std::cout << "docs/emitted_kernels.md quotes no kernel\n";
  return found == 0 ? 1 : stale;
}

}  // namespace

int main(int argc, char** argv) {
  const bool update = argc > 1 && std::string(argv[1]) == "--update";
  std::vector<fs::path> graphs;
  for (const auto& entry : fs::directory_iterator(STITCH_GOLDEN_DIR)) {
    if (entry.path().extension() == ".graph") graphs.push_back(entry.path());
  }
  std::sort(graphs.begin(), graphs.end());
  int differences = graphs.empty() ? 1 : 0;
  std::vector<std::string> texts;
  for (const fs::path& graph : graphs) {
    fs::path kept = graph;
    kept.replace_extension(".cu");
    try {
      const std::string text = emitted_text(graph);
      texts.push_back(text);
      if (update) {
        std::ofstream(kept) << text;
      } else if (const std::string before = read_file(kept); before != text) {
        ++differences;
        std::cout << kept.filename().string() << " differs in " << first_difference(before, text)
                  << "\n";
      }
    } catch (const std::exception& error) {
      ++differences;
      std::cout << graph.filename().string() << ": " << error.what() << "\n";
    }
  }
  if (differences > 0) {
    std::cout << "to accept what is emitted now: " << argv[0] << " --update\n";
  }
  return differences + stale_quotations(texts) == 0 ? 0 : 1;
}
