#include "range_report.h"

#include <fmt/format.h>

#include "console.h"
#include "graph/error.h"
#include "graph/passes.h"
#include "table.h"

namespace stitch {

using Json = nlohmann::ordered_json;

namespace {

void require_range_flags(const CompileFlags& flags) {
  const auto refuse = [](const char* flag) {
    throw ModelError(fmt::format("{} is of one plan, and --dim has a range", flag));
  };
  if (!flags.plans.empty()) refuse("--plan");
  if (!flags.only_kernel.empty()) refuse("--only-kernel");
  if (flags.max_fusions >= 0) refuse("--max-fusions");
  if (flags.explain) refuse("--explain");
  if (!flags.dump_dir.empty()) refuse("--dump-dir");
}

// "batch=8 seq=128"
std::string extents_text(const DimBindings& extents) {
  std::string text;
  for (const auto& [name, extent] : extents)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, extent);
  return text;
}

// "1" for the plan of the first sample's decisions, in the order of candidates.
std::string plan_number(size_t candidate) { return fmt::format("plan {}", candidate + 1); }

std::string times_table(const PlanRange& range) {
  std::vector<TableColumn> columns = {{"extents", Align::kLeft}, {"fastest", Align::kLeft}};
  for (size_t c = 0; c < range.candidates.size(); ++c)
    columns.push_back({plan_number(c) + (c == range.chosen ? " (chosen)" : "")});
  Table table(std::move(columns));
  for (size_t s = 0; s < range.samples.size(); ++s) {
    std::vector<std::string> cells = {extents_text(range.samples[s]),
                                      plan_number(range.winners[s])};
    for (const RangeCandidate& candidate : range.candidates)
      cells.push_back(
          fmt::format("{:.1f} us{}", candidate.us[s], candidate.regions_anew[s] > 0 ? " *" : ""));
    table.add_row(std::move(cells));
  }
  return table.to_string();
}

std::string crossover_text(const PlanRange& range, const RangeCrossover& crossover) {
  const std::string& dim = range.dims[crossover.dim].name;
  DimBindings others = crossover.extents;
  others.erase(dim);
  return fmt::format("from {}={}{}: {} ({:.1f} us) instead of {} ({:.1f} us)", dim,
                     crossover.extents.at(dim), others.empty() ? "" : " at " + extents_text(others),
                     plan_number(crossover.after), crossover.after_us,
                     plan_number(crossover.before), crossover.before_us);
}

}  // namespace

PlanRange plan_model_range(const ModelFlags& model, const CompileFlags& flags,
                           const std::string& architecture) {
  require_range_flags(flags);
  PlanRangeRequest request;
  request.dims = model.dim_ranges();
  request.options = flags.plan_options(architecture);
  request.graph_at = [&](const DimBindings& extents) {
    ImportOptions options = model.import_options_at(extents);
    options.weights_may_be_absent = true;
    return run_passes(import_onnx(model.model, options).graph);
  };
  return plan_range(request);
}

std::string range_table(const PlanRange& range, const std::string& device) {
  std::string text = times_table(range);
  int anew = 0;
  for (size_t c = 0; c < range.candidates.size(); ++c) {
    const RangeCandidate& candidate = range.candidates[c];
    text += fmt::format(
        "\n{}: of {}: {} kernels, {} library calls; {:.3f} times the fastest on "
        "average, {:.3f} at worst",
        plan_number(c), extents_text(range.samples[candidate.planned_at]), candidate.kernels,
        candidate.library_calls, candidate.mean_slowdown, candidate.worst_slowdown);
    if (candidate.worst_slowdown > 1)
      text += fmt::format(" ({})", extents_text(range.samples[candidate.worst_at]));
    for (const int regions : candidate.regions_anew) anew += regions;
  }
  text += fmt::format("\nchosen for {}: {}", device, plan_number(range.chosen));
  for (const RangeCrossover& crossover : range.crossovers)
    text += "\n" + crossover_text(range, crossover);
  if (range.crossovers.empty()) text += "\nno other plan wins anywhere among the samples";
  if (anew > 0)
    text +=
        "\n*: some regions have other nodes at these extents and are planned anew, so that the "
        "time is not of the same decisions throughout";
  return text;
}

nlohmann::ordered_json range_json(const PlanRange& range) {
  Json json;
  for (const DimRange& dim : range.dims) json["dims"][dim.name] = {dim.low, dim.high};
  json["chosen"] = range.chosen;
  json["samples"] = Json::array();
  for (size_t s = 0; s < range.samples.size(); ++s)
    json["samples"].push_back({{"extents", range.samples[s]}, {"fastest", range.winners[s]}});
  json["plans"] = Json::array();
  for (const RangeCandidate& candidate : range.candidates)
    json["plans"].push_back({{"planned_at", range.samples[candidate.planned_at]},
                             {"kernels", candidate.kernels},
                             {"library_calls", candidate.library_calls},
                             {"predicted_us", candidate.us},
                             {"regions_anew", candidate.regions_anew},
                             {"mean_slowdown", candidate.mean_slowdown},
                             {"worst_slowdown", candidate.worst_slowdown},
                             {"worst_at", range.samples[candidate.worst_at]}});
  json["crossovers"] = Json::array();
  for (const RangeCrossover& crossover : range.crossovers)
    json["crossovers"].push_back({{"dim", range.dims[crossover.dim].name},
                                  {"from", crossover.extents},
                                  {"before", crossover.before},
                                  {"after", crossover.after},
                                  {"before_us", crossover.before_us},
                                  {"after_us", crossover.after_us}});
  return json;
}

}  // namespace stitch
