// Verifies every `trail` model of the corpus in all modes and writes the table of bench/results.
// usage: corpus_table STITCHC CORPUS/small [--jobs N] [--only TEXT] [--milestone trail]
//                     [--resume RESULTS.json] > table.md
//
// --resume: every finished model is written to RESULTS.json, and models that it holds are not run
// again, except those that --only names; the table is of all that it holds then.
//
// Below the table stands a reason for every model beyond the limits: 1.15 kernels per region, 1.10
// times the compulsory bytes. The reasons are the plan's own notes.
//
// Each model runs in processes of its own, so that one failure cannot hide another. The exit code
// is the number of models that did not pass everywhere, at most 99.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
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
constexpr double kMostKernelsPerRegion = 1.15;
constexpr double kMostTraffic = 1.10;

struct Options {
  std::string stitchc, corpus, only, resume, milestone = "trail";
  int jobs = 1;
};

struct Run {
  Json json;          // null when there is none
  std::string error;  // first line of stderr
};
using Results = std::map<std::string, std::vector<Run>>;  // by model, one run per mode

Results read_results(const std::string& path) {
  Results results;
  std::ifstream in(path);
  if (!in) return results;
  const Json all = Json::parse(in);
  for (const auto& [model, runs] : all.items())
    for (const Json& run : runs) results[model].push_back({run["json"], run["error"]});
  return results;
}

// Through a file of another name: a run that is ended leaves the old results or the new ones.
void write_results(const std::string& path, const Results& results) {
  if (path.empty()) return;
  Json all = Json::object();
  for (const auto& [model, runs] : results)
    for (const Run& run : runs) all[model].push_back({{"json", run.json}, {"error", run.error}});
  const std::string draft = path + ".draft";
  std::ofstream(draft) << all.dump(1) << '\n';
  std::filesystem::rename(draft, path);
}

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
    if (milestone == options.milestone) models.push_back(model);
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

// The notes that tell why a model is beyond a limit; empty for one within the limits.
std::string reason(const std::string& model, const Json& json) {
  if (json.is_null()) return "";
  const double kernels =
      ratio(json.value("kernels", int64_t{0}), json.value("regions", int64_t{0}));
  const double traffic =
      ratio(json.value("bytes", int64_t{0}), json.value("compulsory_bytes", int64_t{0}));
  const bool cut = kernels > kMostKernelsPerRegion, again = traffic > kMostTraffic;
  if (!cut && !again) return "";
  std::string notes;
  for (const Json& note : json.value("notes", Json::array())) {
    const std::string text = note.get<std::string>();
    const bool fits = (cut && text.find(": cut in ") != std::string::npos) ||
                      (again && text.find("its compulsory bytes") != std::string::npos);
    if (fits) notes += (notes.empty() ? "" : "; ") + text;
  }
  return fmt::format("- {}: {:.2f} kernels per region, {:.2f} of the compulsory bytes: {}\n", model,
                     kernels, traffic, notes);
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
    if (flag == "--resume") options.resume = argv[i + 1];
    if (flag == "--milestone") options.milestone = argv[i + 1];
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr,
               "usage: corpus_table STITCHC CORPUS/small [--jobs N] [--only TEXT] "
               "[--milestone trail] [--resume RESULTS.json]\n");
    return 2;
  }
  const Options options = parse(argc, argv);
  const std::vector<std::string> models = models_of(options);
  Results results = options.resume.empty() ? Results() : read_results(options.resume);
  std::vector<std::string> open;
  for (const std::string& model : models) {
    const bool named = model.find(options.only) != std::string::npos;
    if (named && (!options.only.empty() || results.count(model) == 0)) open.push_back(model);
  }
  std::atomic<size_t> next{0};
  std::mutex mutex;
  const auto work = [&](int slot) {
    for (size_t i = next++; i < open.size(); i = next++) {
      std::vector<Run> runs;
      for (const Mode& mode : kModes) runs.push_back(run_model(options, open[i], mode, slot));
      const std::lock_guard lock(mutex);
      Totals ignored;
      fmt::print(stderr, "{}", row(open[i], runs, ignored));
      results[open[i]] = std::move(runs);
      write_results(options.resume, results);
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
  std::string reasons;
  for (const std::string& model : models) {
    const auto found = results.find(model);
    if (found == results.end()) continue;
    fmt::print("{}", row(model, found->second, totals));
    reasons += reason(model, found->second.front().json);
  }
  fmt::print("| all {} | {} | {} | {} | {} | {} | {:.3f} | | | {} passed |\n", totals.models,
             totals.kernels_none, totals.kernels, totals.contractions, totals.regions,
             totals.barriers, ratio(totals.bytes, totals.compulsory), totals.passed);
  fmt::print("\nKernels per region: {:.3f}. Bytes per compulsory byte: {:.3f}.\n",
             ratio(totals.kernels, totals.regions), ratio(totals.bytes, totals.compulsory));
  if (!reasons.empty()) fmt::print("\nBeyond the limits of a model, and why:\n\n{}", reasons);
  return std::min(99, totals.models - totals.passed);
}
