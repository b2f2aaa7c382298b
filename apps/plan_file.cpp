#include "plan_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

#include "graph/error.h"
#include "planner/check/plan_validate.h"
#include "planner/plan/plan_text.h"

namespace stitch {
namespace fs = std::filesystem;

namespace {

constexpr size_t kMostProblemsShown = 10;

std::string text_of(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error))
    throw ModelError(fmt::format("cannot read '{}': no such file", file.string()));
  std::ostringstream text;
  std::ifstream in(file, std::ios::binary);
  text << in.rdbuf();
  if (!in) throw ModelError(fmt::format("cannot read '{}'", file.string()));
  return text.str();
}

// The line that defines what a problem is about: "kernel k00_softmax: ..." or "buffer x: ...".
size_t line_of(std::string_view text, const std::string& problem) {
  const size_t blank = problem.find(' ');
  const size_t colon = problem.find(':');
  if (blank == std::string::npos || colon == std::string::npos || colon < blank) return 1;
  const std::string word = problem.substr(0, blank);
  const std::string name = '"' + problem.substr(blank + 1, colon - blank - 1) + '"';
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    ++number;
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const bool defines = line.starts_with(word) || (word == "kernel" && line.starts_with("twin "));
    if (defines && line.find(name) != std::string_view::npos) return number;
    begin = end + 1;
  }
  return 1;
}

std::string problem_list(const fs::path& file, const std::string& text,
                         const std::vector<std::string>& problems) {
  std::string list = fmt::format("{} problem{} in '{}':", problems.size(),
                                 problems.size() == 1 ? "" : "s", file.string());
  for (size_t i = 0; i < problems.size() && i < kMostProblemsShown; ++i)
    list += fmt::format("\n  line {}: {}", line_of(text, problems[i]), problems[i]);
  if (problems.size() > kMostProblemsShown)
    list += fmt::format("\n  ... {} more", problems.size() - kMostProblemsShown);
  return list;
}

}  // namespace

void write_plan_file(const Plan& plan, const fs::path& file) {
  std::ofstream out(file, std::ios::binary);
  out << print_plan(plan);
  out.close();
  if (!out) throw ModelError(fmt::format("cannot write '{}'", file.string()));
}

Plan read_plan_file(const fs::path& file, const Graph& graph) {
  const std::string text = text_of(file);
  Plan plan;
  try {
    plan = parse_plan(text, graph);
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("'{}': {}", file.string(), error.what()));
  }
  const std::vector<std::string> problems = plan_problems(plan);
  if (!problems.empty()) throw ModelError(problem_list(file, text, problems));
  return plan;
}

}  // namespace stitch
