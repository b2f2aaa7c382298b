// Writes the table of bench/results/exemplars.md: for the graph of each hand-written exemplar
// kernel what the planner and emitter make of it, next to the exemplar's figures. usage:
// exemplar_table STITCHC [--device emulator:sm_90] [--only NAME] [--cache DIR] > table.md
//
// The exit code is the number of models that could not be profiled.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "exemplar_models.h"
#include "frontend/model_builder.h"

namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string stitchc, device = "emulator:sm_90", only, cache;
};

Json profile(const Options& options, const std::string& model) {
  std::string command = fmt::format("'{}' profile '{}' --json --jobs 1 --device {} 2>/dev/null",
                                    options.stitchc, model, options.device);
  if (!options.cache.empty()) command += fmt::format(" --cache '{}'", options.cache);
  FILE* const pipe = popen(command.c_str(), "r");
  std::string text;
  char piece[4096];
  while (pipe != nullptr && std::fgets(piece, sizeof piece, pipe) != nullptr) text += piece;
  if (pipe != nullptr) pclose(pipe);
  return Json::parse(text, nullptr, false);
}

double number(const Json& kernel, const char* field) { return kernel.at(field).get<double>(); }

std::string our_row(const std::string& name, const Json& kernel) {
  return fmt::format(
      "| {} | **{}** | {:.3g} / 0 / {} | {} | {} | {:.0f} % | {:.3f} | {:.3f} | {:.2f} | {} x {} "
      "|\n",
      name, kernel["name"].get<std::string>(), number(kernel, "barriers"),
      kernel["grid_barriers"].dump(), kernel["registers"].dump(), kernel["spill_bytes"].dump(),
      100 * number(kernel, "vector_share"), number(kernel, "sector_efficiency"),
      number(kernel, "traffic_ratio"), number(kernel, "bank_conflict_factor"),
      kernel["blocks"].dump(), kernel["threads"].dump());
}

std::string exemplar_row(const stitch::ExemplarFigures& e) {
  return fmt::format(
      "| | {} | {:.4g} / {:.3g} / {:.3g} | {} | 0 | {} of {} | {:.3f} | {:.3f} | {:.2f} | |\n",
      e.kernel, e.block_barriers, e.cluster_barriers, e.grid_barriers, e.registers, e.wide_accesses,
      e.accesses, e.sectors, e.traffic, e.banks);
}

Options parse(int argc, char** argv) {
  Options options;
  options.stitchc = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--device") options.device = argv[i + 1];
    if (flag == "--only") options.only = argv[i + 1];
    if (flag == "--cache") options.cache = argv[i + 1];
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(
        stderr,
        "usage: exemplar_table STITCHC [--device emulator:sm_90] [--only NAME] [--cache DIR]\n");
    return 2;
  }
  const Options options = parse(argc, argv);
  const stitch::TemporaryFolder folder;
  int failed = 0;
  fmt::print(
      "| graph | kernel | barriers block / cluster / grid | registers | spills | 128-bit | sectors "
      "| "
      "traffic | banks | grid |\n|---|---|---|---|---|---|---|---|---|---|\n");
  for (const stitch::ExemplarModel& model : stitch::write_exemplar_models(folder.path())) {
    if (model.name.find(options.only) == std::string::npos) continue;
    const Json json = profile(options, model.file.string());
    if (json.is_discarded()) {
      ++failed;
      fmt::print("| {} | no profile |\n", model.name);
      continue;
    }
    std::string name = model.name;
    for (const Json& kernel : json["kernels"]) {
      fmt::print("{}", our_row(name, kernel));
      name.clear();
    }
    for (const stitch::ExemplarFigures& figures : model.figures)
      fmt::print("{}", exemplar_row(figures));
    std::fflush(stdout);
  }
  return failed;
}
