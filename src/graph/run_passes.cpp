#include <array>
#include <chrono>

#include "graph/error.h"
#include "graph/graph_equality.h"
#include "graph/passes.h"
#include "graph/text_form.h"
#include "graph/validate.h"

namespace stitch {
namespace {

struct Pass {
  const char* name;
  Graph (*run)(const Graph&);
};

constexpr std::array kPasses = {
    Pass{"remove_dead", remove_dead},        // first: exporters leave much behind
    Pass{"simplify", simplify},              // before folding: moves constants through broadcasts
    Pass{"defer_scales", defer_scales},      // before folding: scaled weights are no integers
    Pass{"fold_constants", fold_constants},  // what simplify gathered
    Pass{"merge_common", merge_common},      // after both, when equal things look equal
    Pass{"merge_products", merge_products},  // after it: the matrix must be one value
    Pass{"pack_matrices", pack_matrices},    // after it: of fewer products
};

// Every round makes the graph smaller or simpler; what is left after these is left.
constexpr int kMostRounds = 8;

Graph run_one(const Pass& pass, const Graph& graph) {
  const std::string where = std::string("in pass ") + pass.name + ": ";
  try {
    return pass.run(graph);
  } catch (const ModelError& error) {
    throw ModelError(where + error.what());
  } catch (const InternalError& error) {
    throw InternalError(where + error.what());
  }
}

void validate_after(const Pass& pass, const Graph& graph) {
  try {
    validate(graph);
  } catch (const InternalError& error) {
    throw InternalError(std::string("in pass ") + pass.name + ": " + error.what());
  }
}

}  // namespace

Graph run_passes(Graph graph, const PassOptions& options, std::vector<PassTime>* times) {
  validate(graph);
  if (options.dump) options.dump("import", print_graph(graph));
  // The pass that changed the graph last: when it comes round again unchanged, all are done.
  size_t unchanged = 0;
  for (size_t step = 0; step < kMostRounds * kPasses.size() && unchanged < kPasses.size(); ++step) {
    const Pass& pass = kPasses[step % kPasses.size()];
    const auto start = std::chrono::steady_clock::now();
    Graph result = run_one(pass, graph);
    const bool changed = !equal(result, graph);
    if (changed) {
      validate_after(pass, result);
      graph = std::move(result);
    }
    unchanged = changed ? 0 : unchanged + 1;
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    if (times != nullptr) times->push_back({pass.name, time.count(), changed});
    if (options.dump) options.dump(pass.name, changed ? print_graph(graph) : "unchanged");
  }
  return graph;
}

}  // namespace stitch
