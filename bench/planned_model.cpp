#include "planned_model.h"

#include <fmt/format.h>

#include <cstdio>
#include <sstream>

namespace stitch::bench {

nlohmann::ordered_json planned_model(const std::string& stitchc, const std::string& corpus,
                                     const std::string& wanted, const std::string& flags) {
  const size_t colon = wanted.find(':');
  const std::string name = wanted.substr(0, colon);
  std::string command =
      fmt::format("'{}' plan '{}/{}/model.onnx' --json {}", stitchc, corpus, name, flags);
  if (colon != std::string::npos) {
    std::istringstream dims(wanted.substr(colon + 1));
    for (std::string dim; std::getline(dims, dim, ',');) command += fmt::format(" --dim '{}'", dim);
  }
  std::string text;
  char piece[4096];
  FILE* const pipe = popen((command + " 2>/dev/null").c_str(), "r");
  while (pipe != nullptr && std::fgets(piece, sizeof piece, pipe) != nullptr) text += piece;
  if (pipe != nullptr) pclose(pipe);
  return nlohmann::ordered_json::parse(text, nullptr, false);
}

}  // namespace stitch::bench
