// Compiles full-size models, runs them on the emulator and writes the table of bench/results.
// usage: full_models STITCHC CORPUS/full [--models A,B,...] [--verify library,own] > table.md
//
// The models need their weights: corpus/tools/fill_weights.py NAME. Times are those that stitchc
// reports, cold: nothing is cached. Memory is the peak of what the process allocates (RssAnon),
// which leaves out mapped files, the weights among them. The exit code is the number of models that
// did not pass, at most 99.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kSecondsPerRun = 1800;
constexpr unsigned kMicrosecondsPerSample = 5000;

struct Options {
  std::string stitchc, corpus;
  std::vector<std::string> models = {"bert_base", "resnet50", "gpt2_prefill", "crnn_unrolled"};
  std::vector<std::string> verify = {"library", "own"};
};

struct Run {
  Json json;          // null when there is none
  std::string error;  // first line of stderr that is one
  double allocated_mb = 0;
};

std::vector<std::string> split(const std::string& list) {
  std::istringstream in(list);
  std::vector<std::string> parts;
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

// Of the process now, 0 when it has ended.
double allocated_mb(pid_t process) {
  std::ifstream in(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(in, line);)
    if (line.rfind("RssAnon:", 0) == 0) return std::stod(line.substr(8)) * 1024 / 1e6;
  return 0;
}

std::string read_file(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void redirect(int stream, const fs::path& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file >= 0) dup2(file, stream);
}

Run run(const std::vector<std::string>& command, const fs::path& scratch) {
  const fs::path out = scratch / "stdout", err = scratch / "stderr";
  const pid_t child = fork();
  if (child == 0) {
    redirect(STDOUT_FILENO, out);
    redirect(STDERR_FILENO, err);
    alarm(kSecondsPerRun);
    std::vector<char*> arguments;
    for (const std::string& argument : command)
      arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  Run run;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    run.allocated_mb = std::max(run.allocated_mb, allocated_mb(child));
    usleep(kMicrosecondsPerSample);
  }
  run.json = Json::parse(read_file(out), nullptr, false);
  if (!run.json.is_discarded()) return run;
  run.json = nullptr;
  std::istringstream lines(read_file(err));
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("error:", 0) == 0) {
      run.error = line;
      return run;
    }
  run.error = WIFEXITED(status) ? fmt::format("ended with status {}", WEXITSTATUS(status))
                                : fmt::format("ended by signal {}", WTERMSIG(status));
  return run;
}

std::string verdict(const Run& run) {
  if (run.json.is_null()) return run.error;
  double error = 0;
  for (const Json& output : run.json["outputs"])
    error = std::max(error, output.value("max_rel_row", 0.0));
  return fmt::format("{}, {:.1e}", run.json.value("passed", false) ? "yes" : "NO", error);
}

double total_ms(const Json& stages) {
  double total = 0;
  for (const Json& stage : stages) total += stage.get<double>();
  return total;
}

// False when the model did not compile or did not pass.
bool write_row(const Options& options, const std::string& model, const fs::path& scratch) {
  const fs::path folder = fs::path(options.corpus) / model;
  if (!fs::exists(folder / "weights.bin")) {
    fmt::print("| {} | no weights.bin |\n", model);
    return false;
  }
  const Run compiled = run({options.stitchc, "compile", (folder / "model.onnx").string(), "-o",
                            (scratch / "bundle").string(), "--force", "--arch", "sm_80", "--json"},
                           scratch);
  if (compiled.json.is_null()) {
    fmt::print("| {} | {} |\n", model, compiled.error);
    return false;
  }
  const Json& json = compiled.json;
  const Json& stages = json["stages_ms"];
  const auto count = [&](const char* field) { return json[field].get<int64_t>(); };
  std::string row = fmt::format(
      "| {} | {} | {} | {} | {} | {:.3f} |", model, count("nodes"), count("kernels"),
      count("contractions"), count("regions"),
      static_cast<double>(count("bytes")) / static_cast<double>(count("compulsory_bytes")));
  for (const char* stage : {"import", "passes", "plan", "emit", "compile", "bundle"})
    row += fmt::format(" {:.0f} |", stages[stage].get<double>());
  row += fmt::format(" {:.1f} | {:.3f} | {:.0f} |", total_ms(stages) / 1e3,
                     stages["plan"].get<double>() / static_cast<double>(count("nodes")),
                     compiled.allocated_mb);
  bool passed = true;
  for (const std::string& contractions : options.verify) {
    const Run verified = run({options.stitchc, "verify", folder.string(), "--json", "--no-checks",
                              "--contractions", contractions},
                             scratch);
    passed = passed && !verified.json.is_null() && verified.json.value("passed", false);
    row += " " + verdict(verified) + " |";
  }
  fmt::print("{}\n", row);
  std::fflush(stdout);
  return passed;
}

bool parse(int argc, char** argv, Options& options) {
  if (argc < 3 || argc % 2 == 0) return false;
  options.stitchc = argv[1];
  options.corpus = argv[2];
  for (int i = 3; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--models")
      options.models = split(argv[i + 1]);
    else if (flag == "--verify")
      options.verify = split(argv[i + 1]);
    else
      return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    fmt::print(stderr,
               "usage: full_models STITCHC CORPUS/full [--models A,B,...] "
               "[--verify library,own]\n");
    return 2;
  }
  const fs::path scratch = fs::temp_directory_path() / fmt::format("full_models_{}", getpid());
  fs::create_directories(scratch);
  std::string head =
      "| model | nodes | kernels | contractions | regions | bytes / compulsory | import | passes "
      "| plan | emit | compile | bundle | total s | plan ms / node | allocated MB |";
  std::string rule = "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|";
  for (const std::string& contractions : options.verify) {
    head += fmt::format(" {}, error |", contractions);
    rule += "---|";
  }
  fmt::print("{}\n{}\n", head, rule);
  int failed = 0;
  for (const std::string& model : options.models)
    failed += write_row(options, model, scratch) ? 0 : 1;
  fs::remove_all(scratch);
  return std::min(99, failed);
}
