// Verifies every `trail` model of the corpus in all modes and writes the table of bench/results.
// usage: corpus_table STITCHC CORPUS/small [--jobs N] [--only TEXT] [--milestone trail] > table.md
//
// Each model runs in processes of its own, so that one failure cannot hide another. The exit code
// is the number of models that did not pass everywhere, at most 99.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using Json = nlohmann::json;

struct Mode {
  const char* fusion;
  const char* contractions;
};
constexpr Mode kModes[] = {
    {"stitch", "library"}, {"stitch", "own"}, {"none", "library"}, {"none", "own"}};
constexpr int kSecondsPerRun = 900;

struct Options {
  std::string stitchc, corpus, only, milestone = "trail";
  int jobs = 1;
};

struct Run {
  Json json;          // null when there is none
  std::string error;  // first line of stderr
};

std::string quoted(const std::string& text) { return "'" + text + "'"; }

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line, error;
  while (std::getline(in, line))
    if (line.rfind("error:", 0) == 0) return line;
  return error;
}

Run run_model(const Options& options, const std::string& model, const Mode& mode, int slot) {
  const std::string log = fmt::format("/tmp/corpus_table_{}_{}.log", getpid(), slot);
  const std::string command =
      fmt::format("timeout {} {} verify {} --json --jobs 1 --fusion {} --contractions {} 2>{}",
                  kSecondsPerRun, quoted(options.stitchc), quoted(options.corpus + "/" + model),
                  mode.fusion, mode.contractions, log);
  Run run;
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  char piece[4096];
  while (pipe != nullptr && std::fgets(piece, sizeof piece, pipe) != nullptr) text += piece;
  const int status = pipe != nullptr ? pclose(pipe) : -1;
  run.json = Json::parse(text, nullptr, false);
  if (run.json.is_discarded()) {
    run.json = nullptr;
    run.error = first_line(log);
    if (run.error.empty())
      run.error = fmt::format("ended with status {}", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  } else if (!run.json["passed"].get<bool>()) {
    run.error = run.json["reports"].get<int>() > 0
                    ? fmt::format("{} reports", run.json["reports"].get<int>())
                    : "an output is wrong";
  }
  std::remove(log.c_str());
  return run;
}

std::vector<std::string> models_of(const Options& options) {
  std::ifstream in(options.corpus + "/milestones.tsv");
  std::vector<std::string> models;
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string model, milestone;
    std::getline(fields, model, '\t');
    std::getline(fields, milestone, '\t');
    if (milestone == options.milestone && model.find(options.only) != std::string::npos)
      models.push_back(model);
  }
  return models;
}

double worst(const Json& outputs, const char* field) {
  double largest = 0;
  for (const Json& output : outputs) largest = std::max(largest, output.value(field, 0.0));
  return largest;
}

double ratio(int64_t part, int64_t whole) {
  return whole == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
}

struct Totals {
  int64_t kernels = 0, kernels_none = 0, regions = 0, bytes = 0, compulsory = 0, barriers = 0;
  int64_t contractions = 0;
  int models = 0, passed = 0;
};

std::string row(const std::string& model, const std::vector<Run>& runs, Totals& totals) {
  ++totals.models;
  std::string failures;
  for (size_t m = 0; m < runs.size(); ++m)
    if (!runs[m].error.empty())
      failures += fmt::format("{}{}/{}: {}", failures.empty() ? "" : "; ", kModes[m].fusion,
                              kModes[m].contractions, runs[m].error);
  totals.passed += failures.empty() ? 1 : 0;
  const Json& json = runs[0].json;
  if (json.is_null()) return fmt::format("| {} | | | | | | | | | {} |\n", model, failures);
  const auto field = [&](const Json& from, const char* name) {
    return from.is_null() ? int64_t{0} : from.value(name, int64_t{0});
  };
  totals.kernels += field(json, "kernels");
  totals.kernels_none += field(runs[2].json, "kernels");
  totals.regions += field(json, "regions");
  totals.bytes += field(json, "bytes");
  totals.compulsory += field(json, "compulsory_bytes");
  totals.barriers += field(json, "grid_barriers");
  totals.contractions += field(json, "contractions");
  return fmt::format(
      "| {} | {} | {} | {} | {} | {} | {:.3f} | {:.1e} | {:.1e} | {} |\n", model,
      field(runs[2].json, "kernels"), field(json, "kernels"), field(json, "contractions"),
      field(json, "regions"), field(json, "grid_barriers"),
      ratio(field(json, "bytes"), field(json, "compulsory_bytes")),
      worst(json["outputs"], "max_rel_row"), worst(json["outputs"], "recorded_max_rel_row"),
      failures.empty() ? "passed" : failures);
}

Options parse(int argc, char** argv) {
  Options options;
  options.stitchc = argv[1];
  options.corpus = argv[2];
  for (int i = 3; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--jobs") options.jobs = std::stoi(argv[i + 1]);
    if (flag == "--only") options.only = argv[i + 1];
    if (flag == "--milestone") options.milestone = argv[i + 1];
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr,
               "usage: corpus_table STITCHC CORPUS/small [--jobs N] [--only TEXT] "
               "[--milestone trail]\n");
    return 2;
  }
  const Options options = parse(argc, argv);
  const std::vector<std::string> models = models_of(options);
  std::vector<std::vector<Run>> results(models.size());
  std::atomic<size_t> next{0};
  std::mutex mutex;
  const auto work = [&](int slot) {
    for (size_t i = next++; i < models.size(); i = next++) {
      for (const Mode& mode : kModes)
        results[i].push_back(run_model(options, models[i], mode, slot));
      const std::lock_guard lock(mutex);
      Totals ignored;
      fmt::print(stderr, "{}", row(models[i], results[i], ignored));
    }
  };
  std::vector<std::thread> threads;
  for (int j = 1; j < options.jobs; ++j) threads.emplace_back(work, j);
  work(0);
  for (std::thread& thread : threads) thread.join();

  fmt::print(
      "| model | kernels, none | kernels, stitch | contractions | regions | grid barriers | bytes "
      "/ "
      "compulsory | error | recorded error | all modes "
      "|\n|---|---|---|---|---|---|---|---|---|---|\n");
  Totals totals;
  for (size_t i = 0; i < models.size(); ++i) fmt::print("{}", row(models[i], results[i], totals));
  fmt::print("| all {} | {} | {} | {} | {} | {} | {:.3f} | | | {} passed |\n", totals.models,
             totals.kernels_none, totals.kernels, totals.contractions, totals.regions,
             totals.barriers, ratio(totals.bytes, totals.compulsory), totals.passed);
  fmt::print("\nKernels per region: {:.3f}\n", ratio(totals.kernels, totals.regions));
  return std::min(99, totals.models - totals.passed);
}
