#include "planner/report/traffic_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "planner/plan/plan_buffers.h"

namespace stitch {
namespace {

constexpr double kWorthANote = 1.02;

// How many parts of a kernel load each value.
std::map<AccessValueId, int> loading_parts(const Plan& plan, const Kernel& kernel) {
  std::map<AccessValueId, int> parts;
  for (const Part& part : kernel.parts) {
    std::set<AccessValueId> loaded;
    for (const Stage& stage : part.stages) {
      for (const Group& group : stage.groups) {
        for (const AccessNodeId node : group.nodes) {
          for (const AccessValueId source : sources_of(plan.graph, plan.graph.node(node))) {
            loaded.insert(source);
          }
        }
      }
    }
    for (const AccessValueId value : loaded) ++parts[value];
  }
  return parts;
}

std::string shared_loads(const Plan& plan, const Kernel& kernel) {
  const std::map<AccessValueId, int> parts = loading_parts(plan, kernel);
  std::string text;
  for (const Buffer& buffer : plan.buffers) {
    const auto found = parts.find(buffer.value);
    if (found == parts.end() || found->second < 2 || is_literal(plan.graph, buffer.value)) continue;
    text += fmt::format("{}{} is loaded by {} parts", text.empty() ? "" : ", ", buffer.name,
                        found->second);
  }
  return text.empty() ? text : text + ", whose blocks own different indices";
}

std::string scratch_bytes(const Plan& plan, const Kernel& kernel) {
  int64_t bytes = 0;
  for (const auto& [value, places] : kernel.places) {
    for (const Place& place : places) {
      if (place.kind == PlaceKind::kScratch) bytes += plan.buffers[place.buffer.index].bytes;
    }
  }
  return bytes == 0 ? "" : fmt::format("{} bytes pass through scratch between blocks", bytes);
}

}  // namespace

std::vector<std::string> traffic_notes(const Plan& plan) {
  std::vector<std::string> notes;
  for (const Step& step : plan.steps) {
    const Kernel* const kernel = std::get_if<Kernel>(&step);
    if (kernel == nullptr) continue;
    const double ratio = static_cast<double>(kernel->bytes.bytes) /
                         static_cast<double>(std::max<int64_t>(kernel->bytes.compulsory, 1));
    if (ratio <= kWorthANote) continue;
    std::string why;
    for (const std::string& reason : {shared_loads(plan, *kernel), scratch_bytes(plan, *kernel)}) {
      if (!reason.empty()) why += (why.empty() ? "" : "; ") + reason;
    }
    if (why.empty()) why = "what does not fit on chip is loaded again";
    notes.push_back(
        fmt::format("{} moves {:.2f} times its compulsory bytes: {}", kernel->name, ratio, why));
  }
  return notes;
}

}  // namespace stitch
