// The list of graph passes in order, and the runner that validates, times and dumps around each.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace stitch {

Graph fold_constants(const Graph& graph);  // nodes whose operands are constants
Graph simplify(const Graph& graph);        // identities: x+0, reshape of reshape, ...
Graph defer_scales(const Graph& graph);    // of dequantised operands, behind contractions
Graph merge_common(const Graph& graph);    // common sub-expressions
Graph merge_products(const Graph& graph);  // of one matrix with slices of one value
Graph pack_matrices(const Graph& graph);   // that one value is multiplied with
Graph remove_dead(const Graph& graph);     // nodes that reach no output

struct PassTime {
  std::string pass;
  double milliseconds = 0;
  bool changed = false;
};
struct PassOptions {
  // Called after import and after each pass with the text form ("unchanged" when so); may be empty.
  std::function<void(const std::string& pass, const std::string& text)> dump;
};
// Runs the list until it no longer changes the graph (bounded); adds "in pass X" to errors.
Graph run_passes(Graph graph, const PassOptions& options = {},
                 std::vector<PassTime>* times = nullptr);

}  // namespace stitch
