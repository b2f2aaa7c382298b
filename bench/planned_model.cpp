#include "planned_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace stitch::bench {
namespace {

using Json = nlohmann::ordered_json;

// Every extent of every input, as the corpus fills it.
std::string filled_dims(const std::filesystem::path& folder) {
  std::string flags;
  std::ifstream file(folder / "fill.json");
  const Json fill = Json::parse(file, nullptr, false);
  if (fill.is_discarded() || !fill.contains("inputs")) return flags;
  for (const auto& [name, input] : fill["inputs"].items()) {
    for (size_t axis = 0; axis < input["shape"].size(); ++axis) {
      flags += fmt::format(" --dim '{}.{}={}'", name, axis, input["shape"][axis].get<int64_t>());
    }
  }
  return flags;
}

}  // namespace

Json planned_model(const std::string& stitchc, const std::string& corpus, const std::string& wanted,
                   const std::string& flags) {
  const size_t colon = wanted.find(':');
  const std::filesystem::path folder = std::filesystem::path(corpus) / wanted.substr(0, colon);
  std::string command =
      fmt::format("'{}' plan '{}' --json {}", stitchc, (folder / "model.onnx").string(), flags);
  if (colon == std::string::npos) {
    command += filled_dims(folder);
  } else {
    std::istringstream dims(wanted.substr(colon + 1));
    for (std::string dim; std::getline(dims, dim, ',');) command += fmt::format(" --dim '{}'", dim);
  }
  std::string text;
  char piece[4096];
  FILE* const pipe = popen((command + " 2>/dev/null").c_str(), "r");
  while (pipe != nullptr && std::fgets(piece, sizeof piece, pipe) != nullptr) text += piece;
  if (pipe != nullptr) pclose(pipe);
  return Json::parse(text, nullptr, false);
}

std::vector<std::string> wanted_models(const std::string& corpus, int count, char** names) {
  std::vector<std::string> models(names, names + count);
  if (!models.empty()) return models;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    if (std::filesystem::exists(entry.path() / "model.onnx")) {
      models.push_back(entry.path().filename().string());
    }
  }
  std::sort(models.begin(), models.end());
  return models;
}

}  // namespace stitch::bench
