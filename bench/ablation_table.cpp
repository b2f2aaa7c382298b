// What each technique of the planner is worth: full-size models planned in mode stitch, with all
// techniques and with each of them left out, in the form of AStitch's ablation (ASPLOS 2022, 6.4).
// usage: ablation_table STITCHC CORPUS/full NAME[:dim=value,...]... > table.md
//
// The exit code is the number of models that could not be planned, at most 99.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "planned_model.h"
#include "planner/plan/technique.h"

namespace {

using Json = nlohmann::ordered_json;

const Json& figures(const Json& json) { return json["architectures"]["sm_80"]; }

std::string row(const std::string& model, std::string_view without, const Json& json, double all) {
  const double us = figures(json)["predicted_us"].get<double>();
  return fmt::format("| {} | {} | {} | {} | {:.1f} | {:.0f} | {:.2f} |\n", model, without,
                     json["kernels"].get<int>(), json["grid_barriers"].get<int>(),
                     json["bytes"].get<double>() / 1e6, us, us / all);
}

bool print_model(const std::string& stitchc, const std::string& corpus, const std::string& name) {
  using stitch::bench::planned_model;
  const Json all = planned_model(stitchc, corpus, name, "--arch sm_80");
  if (all.is_discarded()) {
    fmt::print("| {} | not planned | | | | | |\n", name);
    return false;
  }
  const double us = figures(all)["predicted_us"].get<double>();
  fmt::print("{}", row(name, "", all, us));
  for (const stitch::TechniqueName& technique : stitch::kTechniques) {
    const Json json = planned_model(stitchc, corpus, name,
                                    fmt::format("--arch sm_80 --without {}", technique.name));
    fmt::print("{}", json.is_discarded()
                         ? fmt::format("| | {} | not planned | | | | |\n", technique.name)
                         : row("", technique.name, json, us));
    std::fflush(stdout);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: ablation_table STITCHC CORPUS/full NAME[:dim=value,...]...\n", stderr);
    return 2;
  }
  fmt::print(
      "| model | without | kernels | grid barriers | MB | predicted us, a100 | over all |\n"
      "|---|---|---|---|---|---|---|\n");
  int failed = 0;
  for (int i = 3; i < argc; ++i) failed += print_model(argv[1], argv[2], argv[i]) ? 0 : 1;
  return std::min(failed, 99);
}
