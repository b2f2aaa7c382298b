#include "frontend/count_nodes.h"

namespace stitch {
namespace {

int64_t count_all(const std::vector<OnnxNode>& nodes) {
  int64_t count = 0;
  for (const OnnxNode& node : nodes) {
    if (node.op_type != "Constant") ++count;
    for (const OnnxAttribute& attribute : node.attributes) {
      if (const auto* body = std::get_if<std::shared_ptr<const OnnxGraph>>(&attribute.value)) {
        count += count_all((*body)->nodes);
      }
    }
  }
  return count;
}

}  // namespace

int64_t count_nodes(const OnnxModel& model) {
  int64_t count = count_all(model.graph.nodes);
  for (const OnnxFunction& function : model.functions) count += count_all(function.nodes);
  return count;
}

}  // namespace stitch
