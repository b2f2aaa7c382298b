#include "graph/graph_fingerprint.h"

#include <fmt/format.h>

#include "graph/hash.h"
#include "graph/text_form.h"

namespace stitch {

std::string fingerprint_text(const Graph& graph) {
  PrintOptions options;
  options.hash_large = false;
  const std::string text = print_graph(graph, options);
  return fmt::format("g{:016x}", hash_bytes(std::as_bytes(std::span(text))));
}

}  // namespace stitch
