#include "plan_report.h"

#include <sys/resource.h>

#include "device_costs.h"
#include "spills.h"

namespace stitch {

using Json = nlohmann::ordered_json;

void add_counts(nlohmann::ordered_json& json, const PlanCounts& counts) {
  json["kernels"] = counts.kernels;
  json["contractions"] = counts.contractions;
  json["contraction_calls"] = counts.contraction_calls;
  json["copies"] = counts.copies;
  json["grid_barriers"] = counts.grid_barriers;
  json["bytes"] = counts.bytes;
  json["compulsory_bytes"] = counts.compulsory_bytes;
  json["regions"] = counts.regions;
  json["notes"] = counts.notes;
}

std::string report_json(const CompiledModel& compiled) {
  Json json;
  json["nodes"] = compiled.graph.onnx_node_count;
  add_counts(json, count_plan(compiled.architectures.front().plan));
  const StageTimes& times = compiled.times;
  json["stages_ms"] = {{"import", times.import_ms},   {"passes", times.passes_ms},
                       {"plan", times.plan_ms},       {"emit", times.emit_ms},
                       {"compile", times.compile_ms}, {"bundle", times.bundle_ms}};
  json["peak_mb"] = peak_memory_mb();
  for (const PlannedArchitecture& planned : compiled.architectures) {
    const PlanCounts counts = count_plan(planned.plan);
    Json entry;
    entry["device"] = planned.plan.device;
    add_counts(entry, counts);
    entry["predicted_us"] = counts.predicted_us;
    entry["costs"] = costs_json(planned.device);
    entry["workspace_bytes"] = planned.plan.arena_bytes;
    if (!planned.kernels.empty()) {  // compiled, not only planned
      entry["spills"] = Json::array();
      for (const Spill& spill : spills_of(planned))
        entry["spills"].push_back({{"kernel", spill.kernel}, {"bytes", spill.bytes}});
    }
    json["architectures"][planned.plan.architecture] = entry;
  }
  return json.dump();
}

double peak_memory_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

}  // namespace stitch
