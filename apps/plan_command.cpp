// stitchc plan: the plan alone, without compiling anything.
#include <fmt/format.h>

#include <memory>

#include "command.h"
#include "compile_model.h"
#include "console.h"
#include "exit_code.h"
#include "graph/error.h"
#include "model_flags.h"
#include "plan_comparison.h"
#include "plan_counts.h"
#include "plan_file.h"
#include "plan_report.h"
#include "planner/plan/plan_text.h"
#include "range_report.h"
#include "table.h"

namespace stitch {

namespace {

struct PlanCommandFlags {
  ModelFlags model;
  CompileFlags compile;
  bool text = false;
  bool compare = false;
  std::filesystem::path write;
  ConsoleOptions console;
};

std::string plan_table(const CompiledModel& compiled) {
  Table table({{"arch", Align::kLeft},
               {"device", Align::kLeft},
               {"regions"},
               {"kernels"},
               {"contractions"},
               {"copies"},
               {"barriers"},
               {"bytes"},
               {"vs min"},
               {"predicted"}});
  for (const PlannedArchitecture& planned : compiled.architectures) {
    const PlanCounts counts = count_plan(planned.plan);
    table.add_row({planned.plan.architecture, planned.plan.device, with_thousands(counts.regions),
                   with_thousands(counts.kernels), with_thousands(counts.contractions),
                   with_thousands(counts.copies), with_thousands(counts.grid_barriers),
                   readable_bytes(counts.bytes), bytes_ratio(counts),
                   fmt::format("{:.0f} us", counts.predicted_us)});
  }
  return table.to_string();
}

int plan_for_range(const PlanCommandFlags& flags) {
  if (flags.compare || flags.text || !flags.write.empty())
    throw ModelError("--compare, --text and --write are of one plan, and --dim has a range");
  Console console(flags.console);
  nlohmann::ordered_json json;
  for (const std::string& architecture : flags.compile.device_architectures()) {
    const PlanRange range = plan_model_range(flags.model, flags.compile, architecture);
    if (console.wants_json()) {
      json["architectures"][architecture] = range_json(range);
    } else {
      const std::string device(find_device(flags.compile.target, architecture).name);
      console.line(range_table(range, device));
    }
  }
  if (console.wants_json()) console.json(json.dump());
  return kDone;
}

int plan(const PlanCommandFlags& flags) {
  if (!flags.model.dim_ranges().empty()) return plan_for_range(flags);
  Console console(flags.console);
  if (!flags.write.empty() && flags.compile.device_architectures().size() > 1)
    throw ModelError(
        "--write takes the plan of one architecture, and --arch asks for more\n"
        "help: --dump-dir DIR writes one file for each");
  CompiledModel compiled;
  ImportOptions options = flags.model.import_options();
  options.weights_may_be_absent = true;
  import_model(flags.model.model, options, flags.compile, console, compiled);
  if (flags.compare) {
    const PlanComparison comparison = compare_modes(compiled.graph, flags.compile);
    if (console.wants_json()) {
      console.json(comparison_json(comparison));
    } else {
      console.line(comparison_table(comparison));
    }
    return kDone;
  }
  plan_model(flags.compile, console, compiled);
  if (!flags.write.empty()) write_plan_file(compiled.architectures.front().plan, flags.write);
  if (console.wants_json()) {
    console.json(report_json(compiled));
  } else if (flags.text) {
    for (const PlannedArchitecture& planned : compiled.architectures)
      console.line(print_plan(planned.plan));
  } else {
    console.line(plan_table(compiled));
  }
  return kDone;
}

}  // namespace

void add_plan_command(CLI::App& app, Action& action) {
  auto flags = std::make_shared<PlanCommandFlags>();
  CLI::App* command = app.add_subcommand("plan", "plan kernels without compiling them");
  add_model_flags(*command, flags->model);
  add_planning_flags(*command, flags->compile);
  CLI::Option* const text =
      command->add_flag("--text", flags->text, "print the plans in their text form");
  command->add_flag("--compare", flags->compare, "all fusion modes side by side")->excludes(text);
  command->add_option("--write", flags->write, "write the plan to a file, which --plan takes back")
      ->type_name("FILE");
  command->add_flag("--json", flags->console.json, "one JSON object on stdout");
  command->footer(
      "Examples:\n  stitchc plan bert.onnx --dim batch=1 --dim seq=128 --arch sm_80,sm_90\n"
      "  stitchc plan bert.onnx --dim batch=1 --dim seq=128 --explain --text\n"
      "  stitchc plan bert.onnx --dim batch=1 --dim seq=128 --compare --arch sm_80,sm_90\n"
      "  stitchc plan bert.onnx --dim batch=1..64 --dim seq=128");
  command->callback([flags, &action] { action = [flags] { return plan(*flags); }; });
}

}  // namespace stitch
