#include "model_target.h"

#include <fmt/format.h>

#include "graph/error.h"

namespace stitch {
namespace fs = std::filesystem;

namespace {

// Binds the inputs that the problems name; false when there is none that is not bound already.
bool bind_named_inputs(const std::vector<ImportProblem>& problems, const DataSet& set,
                       ImportOptions& options) {
  bool bound = false;
  for (const ImportProblem& problem : problems)
    for (const std::string& name : problem.inputs_to_bind) {
      const auto input = set.inputs.find(name);
      if (input != set.inputs.end()) bound |= options.bound_inputs.insert(*input).second;
    }
  return bound;
}

}  // namespace

fs::path model_file(const fs::path& target) {
  const fs::path model = fs::is_directory(target) ? target / "model.onnx" : target;
  if (!fs::exists(model)) throw ModelError(fmt::format("there is no '{}'", model.string()));
  return fs::absolute(model);  // data sets are looked for beside it
}

std::vector<fs::path> chosen_data_sets(const std::string& wish, const fs::path& model) {
  std::vector<fs::path> sets = find_data_sets(model.parent_path());
  if (wish.empty()) return sets;
  if (fs::is_directory(wish)) return {wish};
  std::erase_if(sets, [&](const fs::path& set) { return set.filename() != wish; });
  if (sets.empty())
    throw ModelError(fmt::format("there is no data set '{}' beside '{}'", wish, model.string()));
  return sets;
}

void import_for_data(const DataSet& set, const fs::path& model, const CompileFlags& flags,
                     Console& console, ImportOptions& options, CompiledModel& compiled) {
  for (;;) {
    try {
      import_model(model, options, flags, console, compiled);
      return;
    } catch (const ImportError& error) {
      if (!bind_named_inputs(error.problems(), set, options)) throw;
    }
  }
}

}  // namespace stitch
