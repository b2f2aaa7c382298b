// Plans full-size models in all fusion modes and writes the table of bench/results.
// usage: mode_table STITCHC CORPUS/full [NAME[:dim=value,...]...] > table.md
//
// The exit code is the number of models that could not be planned, at most 99.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "planned_model.h"

namespace {

using Json = nlohmann::ordered_json;

std::string rows(const std::string& name, const Json& json) {
  std::string text;
  const double planner_us = json["modes"]["stitch"]["predicted_us"]["sm_80"].get<double>();
  for (const auto& [mode, plan] : json["modes"].items()) {
    const double us = plan["predicted_us"]["sm_80"].get<double>();
    const double bytes = plan["bytes"].get<double>();
    const double compulsory = std::max(plan["compulsory_bytes"].get<double>(), 1.0);
    text += fmt::format(
        "| {} | {} | {} | {} | {} | {:.1f} | {:.2f} | {:.0f} | {:.2f} |\n",
        mode == "none" ? fmt::format("{} ({} nodes)", name, json["nodes"].get<int>()) : "", mode,
        plan["kernels"].get<int>(), plan["contractions"].get<int>(),
        plan["grid_barriers"].get<int>(), bytes / 1e6, bytes / compulsory, us, us / planner_us);
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: mode_table STITCHC CORPUS/full [NAME[:dim=value,...]...]\n", stderr);
    return 2;
  }
  fmt::print(
      "| model | mode | kernels | contractions | grid barriers | MB | bytes / compulsory | "
      "predicted "
      "us, a100 | over stitch |\n|---|---|---|---|---|---|---|---|---|\n");
  int failed = 0;
  for (const std::string& name : stitch::bench::wanted_models(argv[2], argc - 3, argv + 3)) {
    const Json json = stitch::bench::planned_model(argv[1], argv[2], name, "--compare");
    if (json.is_discarded()) {
      fmt::print("| {} | not planned | | | | | | | |\n", name);
      ++failed;
      continue;
    }
    fmt::print("{}", rows(name, json));
    std::fflush(stdout);
  }
  return std::min(failed, 99);
}
