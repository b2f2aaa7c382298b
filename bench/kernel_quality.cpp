// Profiles models on the emulator and writes the table of bench/results/kernel_quality.md: the
// quality of all memory-intensive kernels, those that miss a target, and the plan's requested bytes
// against the counted ones.
// usage: kernel_quality STITCHC MODEL... [--list FILE FOLDER] [--cache DIR] [--save RESULTS.json]
//        kernel_quality --from RESULTS.json > table.md
//
// --list: the models that the first column of a table of tabs names, in a folder; its second column
// must be "trail". The exit code is the number of models that could not be profiled, at most 99.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr double kLeastSectors = 0.97;
constexpr double kMostConflicts = 1.05;
constexpr double kRequestTolerance = 0.05;
// A kernel so small is no matter of bandwidth: its time is the launch.
constexpr double kSmallBytes = 1e6;
constexpr int kSecondsPerModel = 600;

struct Options {
  std::string stitchc, cache, save, from;
  std::vector<std::string> models;
};

std::string quoted(const std::string& text) { return "'" + text + "'"; }

void add_list(const std::string& list, const std::string& folder, Options& options) {
  std::ifstream in(list);
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string model, milestone;
    std::getline(fields, model, '\t');
    std::getline(fields, milestone, '\t');
    if (milestone == "trail") options.models.push_back(folder + "/" + model);
  }
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--from" && i + 1 < argc) {
      options.from = argv[++i];
    } else if (flag == "--cache" && i + 1 < argc) {
      options.cache = argv[++i];
    } else if (flag == "--save" && i + 1 < argc) {
      options.save = argv[++i];
    } else if (flag == "--list" && i + 2 < argc) {
      add_list(argv[i + 1], argv[i + 2], options);
      i += 2;
    } else if (options.stitchc.empty()) {
      options.stitchc = flag;
    } else {
      options.models.push_back(flag);
    }
  }
  return options;
}

// {"model", "profile"}, or {"model", "error"}.
Json profile(const Options& options, const std::string& model) {
  std::string command = fmt::format("timeout {} {} profile {} --json --jobs 1", kSecondsPerModel,
                                    quoted(options.stitchc), quoted(model));
  if (!options.cache.empty()) command += " --cache " + quoted(options.cache);
  FILE* const pipe = popen((command + " 2>/dev/null").c_str(), "r");
  std::string text;
  char piece[4096];
  while (pipe != nullptr && std::fgets(piece, sizeof piece, pipe) != nullptr) text += piece;
  const int status = pipe != nullptr ? pclose(pipe) : -1;
  Json result;
  result["model"] = fs::path(model).stem().string();
  Json parsed = Json::parse(text, nullptr, false);
  if (parsed.is_discarded())
    result["error"] = fmt::format("no profile, status {}", status);
  else
    result["profile"] = std::move(parsed);
  return result;
}

double number(const Json& kernel, const char* field) { return kernel.at(field).get<double>(); }

struct Sums {
  int models = 0, kernels = 0, spilling = 0, small = 0, few_blocks = 0, planned_exactly = 0,
      planned_closely = 0;
  double used = 0, requested = 0, planned = 0, wavefronts = 0, ideal = 0, bytes = 0,
         efficient_bytes = 0, counted = 0, limit_us = 0, predicted_us = 0;
};

void add(const Json& kernel, Sums& sums) {
  ++sums.kernels;
  const double requested = number(kernel, "requested_bytes");
  sums.used += number(kernel, "used_bytes");
  sums.requested += requested;
  sums.planned += number(kernel, "planned_requested_bytes");
  sums.wavefronts += number(kernel, "shared_wavefronts");
  sums.ideal += number(kernel, "shared_wavefronts") / number(kernel, "bank_conflict_factor");
  sums.bytes += number(kernel, "bytes");
  sums.efficient_bytes += number(kernel, "bytes") * number(kernel, "sector_efficiency");
  sums.counted += number(kernel, "counted_bytes");
  sums.limit_us += number(kernel, "limit_us");
  sums.predicted_us += number(kernel, "predicted_us");
  sums.spilling += number(kernel, "spill_bytes") > 0 ? 1 : 0;
  sums.small += number(kernel, "bytes") < kSmallBytes ? 1 : 0;
  sums.few_blocks += number(kernel, "bandwidth_reach") < 0.9 ? 1 : 0;
  const double off = std::abs(number(kernel, "planned_requested_bytes") - requested);
  sums.planned_exactly += off == 0 ? 1 : 0;
  sums.planned_closely += off <= kRequestTolerance * requested ? 1 : 0;
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : 1.0; }

// Which targets a kernel misses; empty for one that meets them.
std::string misses(const Json& kernel) {
  std::string text;
  const auto say = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (number(kernel, "sector_efficiency") < kLeastSectors)
    say(fmt::format("sectors {:.3f}", number(kernel, "sector_efficiency")));
  if (number(kernel, "bank_conflict_factor") > kMostConflicts)
    say(fmt::format("bank conflicts {:.2f}", number(kernel, "bank_conflict_factor")));
  if (number(kernel, "spill_bytes") > 0)
    say(fmt::format("spills {}", kernel["spill_bytes"].dump()));
  const double requested = number(kernel, "requested_bytes");
  if (std::abs(number(kernel, "planned_requested_bytes") - requested) >
      kRequestTolerance * requested)
    say(fmt::format("{:.0f} bytes requested, {} planned", requested,
                    kernel["planned_requested_bytes"].dump()));
  if (number(kernel, "bytes") >= kSmallBytes && number(kernel, "bandwidth_reach") < 0.9)
    say(fmt::format("{} blocks reach {:.2f} of the bandwidth", kernel["blocks"].dump(),
                    number(kernel, "bandwidth_reach")));
  return text;
}

bool is_counted(const Json& kernel) {
  return !kernel.at("contraction").get<bool>() && kernel.at("launched").get<bool>();
}

std::string row(const std::string& model, const Sums& sums) {
  return fmt::format(
      "| {} | {} | {:.2f} MB | {:.3f} | {:.3f} | {:.2f} | {} | {:.3f} | {} of {} | {:.1f} | {:.1f} "
      "|\n",
      model, sums.kernels, sums.bytes / 1e6, ratio(sums.efficient_bytes, sums.bytes),
      ratio(sums.used, sums.requested), ratio(sums.wavefronts, sums.ideal), sums.spilling,
      ratio(sums.planned, sums.requested), sums.planned_closely, sums.kernels, sums.limit_us,
      sums.predicted_us);
}

void merge(const Sums& from, Sums& to) {
  ++to.models;
  to.kernels += from.kernels, to.spilling += from.spilling, to.small += from.small;
  to.few_blocks += from.few_blocks, to.planned_exactly += from.planned_exactly;
  to.planned_closely += from.planned_closely;
  to.used += from.used, to.requested += from.requested, to.planned += from.planned;
  to.wavefronts += from.wavefronts, to.ideal += from.ideal, to.bytes += from.bytes;
  to.efficient_bytes += from.efficient_bytes;
  to.counted += from.counted, to.limit_us += from.limit_us, to.predicted_us += from.predicted_us;
}

int write_tables(const Json& results) {
  fmt::print(
      "| model | kernels | bytes | sectors, by bytes | by requests | banks | spilling | requested: "
      "planned / counted | within 5 % | limit us | predicted us "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  Sums all;
  int failed = 0;
  std::string missing;
  for (const Json& result : results) {
    const std::string model = result.at("model").get<std::string>();
    if (result.contains("error")) {
      fmt::print("| {} | {} |\n", model, result["error"].get<std::string>());
      ++failed;
      continue;
    }
    Sums sums;
    for (const Json& kernel : result["profile"]["kernels"]) {
      if (!is_counted(kernel)) continue;
      add(kernel, sums);
      const std::string text = misses(kernel);
      if (!text.empty())
        missing +=
            fmt::format("| {} | {} | {:.0f} kB | {} |\n", model, kernel["name"].get<std::string>(),
                        number(kernel, "bytes") / 1e3, text);
    }
    fmt::print("{}", row(model, sums));
    merge(sums, all);
  }
  fmt::print("{}", row(fmt::format("all {}", all.models), all));
  fmt::print(
      "\n{} kernels, {} of them below {:.0f} MB; {} reach less than 0.9 of the bandwidth by their "
      "number of blocks. Planned requested bytes: exact for {}, within 5 % for {}.\n",
      all.kernels, all.small, kSmallBytes / 1e6, all.few_blocks, all.planned_exactly,
      all.planned_closely);
  if (!missing.empty())
    fmt::print("\n| model | kernel | bytes | misses |\n|---|---|---|---|\n{}", missing);
  return std::min(failed, 99);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  if (!options.from.empty()) return write_tables(Json::parse(std::ifstream(options.from)));
  if (options.stitchc.empty() || options.models.empty()) {
    fmt::print(stderr,
               "usage: kernel_quality STITCHC MODEL... [--list FILE FOLDER] [--cache DIR] [--save "
               "RESULTS.json]\n       kernel_quality --from RESULTS.json\n");
    return 2;
  }
  Json results = Json::array();
  for (const std::string& model : options.models) {
    results.push_back(profile(options, model));
    if (!options.save.empty()) std::ofstream(options.save) << results.dump() << "\n";
  }
  return write_tables(results);
}
