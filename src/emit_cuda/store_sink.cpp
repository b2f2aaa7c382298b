#include "emit_cuda/store_sink.h"

#include <fmt/format.h>

#include "emit_cuda/cuda_types.h"
#include "emit_cuda/index_text.h"
#include "emit_cuda/kernel_context.h"
#include "planner/access/lane_access.h"

namespace stitch {
namespace {

using Lines = std::vector<std::string>;

// The array behind the text of one lane.
std::string all_lanes(std::string text) {
  if (text.ends_with("[j]")) text.resize(text.size() - 3);
  return text;
}

}  // namespace

void add_store(ElementBuilder& builder, const StoreTarget& target, ElementId id) {
  ElementGraph& graph = builder.graph();
  IndexPool& pool = builder.context().pool();
  const Memory to = target.to;
  const LaneAccess access = lane_access(pool, target.offset, graph.lane, graph.width);
  const bool vector = access == LaneAccess::kContiguous && to.aligned;
  Sink sink;
  sink.scope = target.scope;
  sink.inputs = {id};
  sink.write_offset =
      vector ? pool.substitute(target.offset, {{graph.lane, pool.constant(0)}}) : target.offset;
  sink.lanes = !vector && (graph.at(id).lanes || access != LaneAccess::kSame);
  builder.refer(sink, sink.write_offset);
  if (vector && graph.at(id).lanes) {
    if (graph.at(id).kind != ElementKind::kRegister) graph.at(id).whole = true;
    sink.write = [to](const std::vector<CudaText>& x) -> Lines {
      return {fmt::format("stitch_store({}{}, {});", to.pointer, x[1].text, all_lanes(x[0].text))};
    };
  } else if (vector) {
    const std::string name = builder.context().names().take("same");
    const std::string type = register_type(graph.at(id).dtype);
    const std::string width = target.width;
    sink.write = [=](const std::vector<CudaText>& x) -> Lines {
      return {fmt::format("{} {}[{}];", type, name, width),
              fmt::format("stitch_fill({}, {});", name, x[0].text),
              fmt::format("stitch_store({}{}, {});", to.pointer, x[1].text, name)};
    };
  } else {
    sink.write = [to](const std::vector<CudaText>& x) -> Lines {
      if (is_half(to.dtype)) {
        return {fmt::format("stitch_store_one({}{}, {});", to.pointer, x[1].text, x[0].text)};
      }
      return {fmt::format("{}[{}] = {};", to.pointer, x[2].text, x[0].text)};
    };
  }
  builder.add_sink(std::move(sink));
}

}  // namespace stitch
