// Launches and bytes of full-size models beside those of other compilers, as a table.
// usage: peer_table STITCHC CORPUS/full [NAME...] > table.md
//
// The others' figures are those that the corpus records (CORPUS/peers.md): XLA on the same files,
// Inductor on the same models where their names are equal. The exit code is the number of models
// that could not be planned, at most 99.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "planned_model.h"

namespace {

using Json = nlohmann::ordered_json;
using Row = std::vector<std::string>;

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" *");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" *") - first + 1);
}

Row cells(const std::string& line) {
  Row row;
  for (size_t at = 1; at < line.size();) {
    const size_t end = std::min(line.find('|', at), line.size());
    row.push_back(trimmed(line.substr(at, end - at)));
    at = end + 1;
  }
  return row;
}

// Rows of the tables whose heads have `column`, by model: what stands under it.
std::map<std::string, std::string> column(const std::filesystem::path& file,
                                          const std::string& section, const std::string& head) {
  std::map<std::string, std::string> found;
  std::ifstream lines(file);
  size_t at = 0;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) inside = line.find(section) != std::string::npos;
    if (!inside || !line.starts_with("|")) continue;
    const Row row = cells(line);
    if (row.front() == "model") {
      const auto place = std::find(row.begin(), row.end(), head);
      at = static_cast<size_t>(place - row.begin());
    } else if (at < row.size()) {
      found.emplace(row.front(), row[at]);
    }
  }
  return found;
}

// "88 + 72 (+12 w)" are 172 launches.
int launches(const std::string& text) {
  int sum = 0;
  for (size_t at = 0; at < text.size();) {
    if (!std::isdigit(static_cast<unsigned char>(text[at]))) {
      ++at;
      continue;
    }
    size_t used = 0;
    sum += std::stoi(text.substr(at), &used);
    at += used;
  }
  return sum;
}

std::string value_or_none(const std::map<std::string, std::string>& table,
                          const std::string& name) {
  const auto found = table.find(name);
  return found == table.end() ? "" : found->second;
}

std::string of(int own, const std::string& theirs) {
  const int count = launches(theirs);
  return count == 0 ? "" : fmt::format("{:.2f}", static_cast<double>(own) / count);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: peer_table STITCHC CORPUS/full [NAME...]\n", stderr);
    return 2;
  }
  const std::string corpus = argv[2];
  const std::filesystem::path peers = std::filesystem::path(corpus).parent_path() / "peers.md";
  std::map<std::string, std::string> xla, xla_mb, classic;
  for (const std::string section : {"papers' workloads", "Other models"}) {
    xla.merge(column(peers, section, "XLA"));
    xla_mb.merge(column(peers, section, "MB"));
    classic.merge(column(peers, section, "XLA classic"));
  }
  const auto inductor = column(peers, "Launches", "Inductor");
  fmt::print(
      "| model | stitch | launches | XLA | of XLA's | Inductor | of Inductor's | MB | XLA, MB | "
      "own mode xla | XLA classic |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  int failed = 0;
  for (const std::string& name : stitch::bench::wanted_models(corpus, argc - 3, argv + 3)) {
    const Json json = stitch::bench::planned_model(argv[1], corpus, name, "--compare");
    if (json.is_discarded()) {
      fmt::print("| {} | not planned | | | | | | | | | |\n", name);
      ++failed;
      continue;
    }
    const Json& own = json["modes"]["stitch"];
    const int kernels = own["kernels"].get<int>(), products = own["contractions"].get<int>();
    const Json& like_xla = json["modes"]["xla"];
    const std::string theirs = value_or_none(xla, name);
    const std::string inductors = value_or_none(inductor, name);
    fmt::print("| {} | {} + {} | {} | {} | {} | {} | {} | {:.1f} | {} | {} + {} | {} |\n", name,
               kernels, products, kernels + products, theirs, of(kernels + products, theirs),
               inductors, of(kernels + products, inductors), own["bytes"].get<double>() / 1e6,
               value_or_none(xla_mb, name), like_xla["kernels"].get<int>(),
               like_xla["contractions"].get<int>(), value_or_none(classic, name));
    std::fflush(stdout);
  }
  return std::min(failed, 99);
}
