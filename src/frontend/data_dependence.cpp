#include "frontend/data_dependence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stitch {
namespace {

constexpr size_t kMostNamed = 4;

std::vector<std::string> named(const std::vector<std::string>& inputs) {
  return inputs.size() > kMostNamed ? std::vector<std::string>() : inputs;
}

// What the value depends on, and what to do about it.
std::string dependence(const std::vector<std::string>& inputs) {
  if (inputs.empty()) return "depends on data";
  std::string flags;
  for (const std::string& input : inputs) flags += fmt::format(" --bind {}=FILE.npy", input);
  return fmt::format("depends on the input{} '{}'\nhelp: pass{}", inputs.size() == 1 ? "" : "s",
                     fmt::join(inputs, "', '"), flags);
}

}  // namespace

DataDependence::DataDependence(const std::string& what, const std::vector<std::string>& inputs)
    : ModelError(
          fmt::format("{} must be known at compile time, but {}", what, dependence(named(inputs)))),
      inputs_(named(inputs)) {}

}  // namespace stitch
