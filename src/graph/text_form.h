// The text form of a graph: printer and parser that round-trip.
//
//   graph "bert" {
//     input %0 "ids" : i64[1,128]
//     %1 = constant {f32[2] [0.5, 1]} : f32[2]
//     %3 = reduce(%2) {kind=sum, axes=[1]} : f32[8]  # /encoder/ReduceMean
//     output "hidden" %3
//   }
#pragma once
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace stitch {

struct PrintOptions {
  int64_t largest_constant = 64;  // elements; larger ones print as a hash and do not parse back
  bool hash_large = true;  // false: larger ones print as "large", and their data stays unread
};
std::string print_graph(const Graph& graph, const PrintOptions& options = {});
// ModelError with line and column.
Graph parse_graph(std::string_view text);

}  // namespace stitch
