// stitchc verify: run on the emulator with all checks, and compare with the references.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "console.h"
#include "exit_code.h"
#include "model_flags.h"
#include "table.h"
#include "verify_model.h"

namespace stitch {

namespace {

struct VerifyCommandFlags {
  VerifyRequest request;
  ModelFlags model;
  bool no_checks = false;
  ConsoleOptions console;
};

constexpr size_t kReportsShown = 20;

std::string shape_text(const std::vector<int64_t>& extents) {
  return fmt::format("[{}]", fmt::join(extents, ","));
}

std::string outputs_table(const DataSetVerdict& set) {
  Table table({{"output", Align::kLeft},
               {"dtype", Align::kLeft},
               {"shape", Align::kLeft},
               {"max error"},
               {"of row"},
               {"recorded"},
               {"op by op"},
               {"against", Align::kLeft},
               {"", Align::kLeft}});
  for (const OutputVerdict& output : set.outputs)
    table.add_row({output.name, std::string(long_name(output.dtype)), shape_text(output.extents),
                   fmt::format("{:.1e}", output.ours.max_abs),
                   fmt::format("{:.1e}", output.ours.max_rel_row),
                   output.recorded ? fmt::format("{:.1e}", output.recorded->max_rel_row) : "-",
                   fmt::format("{:.1e}", output.native.max_rel_row), output.against,
                   output.passed ? "passed" : "FAILED"});
  std::string text = table.to_string();
  for (const OutputVerdict& output : set.outputs)
    if (!output.reason.empty()) text += fmt::format("\n{}: {}", output.name, output.reason);
  return text;
}

std::string verify_json(const VerifyResult& result) {
  nlohmann::ordered_json json;
  json["passed"] = result.passed();
  json["reports"] = result.report_count();
  json["kernels"] = result.counts.kernels;
  json["contractions"] = result.counts.contractions;
  json["contraction_calls"] = result.counts.contraction_calls;
  json["regions"] = result.counts.regions;
  json["grid_barriers"] = result.counts.grid_barriers;
  json["copies"] = result.counts.copies;
  json["bytes"] = result.counts.bytes;
  json["compulsory_bytes"] = result.counts.compulsory_bytes;
  json["notes"] = result.counts.notes;
  json["outputs"] = nlohmann::ordered_json::array();
  for (const DataSetVerdict& set : result.data_sets)
    for (const OutputVerdict& output : set.outputs)
      json["outputs"].push_back(
          {{"name", output.name},
           {"data_set", set.name},
           {"max_abs", output.ours.max_abs},
           {"max_rel_row", output.ours.max_rel_row},
           {"recorded_max_rel_row", output.recorded ? output.recorded->max_rel_row : 0.0},
           {"op_by_op_max_rel_row", output.native.max_rel_row},
           {"against", output.against},
           {"passed", output.passed}});
  return json.dump();
}

int verify(const VerifyCommandFlags& flags) {
  Console console(flags.console);
  VerifyRequest request = flags.request;
  request.import = flags.model.import_options();
  request.checks = !flags.no_checks;
  const VerifyResult result = verify_model(request, console);
  if (console.wants_json()) {
    console.json(verify_json(result));
    return result.passed() ? kDone : kModelProblem;
  }
  for (const DataSetVerdict& set : result.data_sets) {
    console.line(set.name);
    console.line(outputs_table(set));
    for (size_t i = 0; i < set.reports.size() && i < kReportsShown; ++i)
      console.line("  " + set.reports[i]);
    if (set.reports.size() > kReportsShown)
      console.line(fmt::format("  ... {} more reports", set.reports.size() - kReportsShown));
  }
  for (const std::string& leak : result.leaks) console.line(leak);
  console.line(fmt::format(
      "{} kernels and {} run{}: {}. {}", result.counts.kernels,
      contractions_text(result.counts.contractions, result.counts.contraction_calls),
      request.checks ? " with checks" : " without checks",
      !request.checks ? "races, bounds and undefined reads were not looked for"
      : result.report_count() == 0
          ? "no race, no access out of bounds, no undefined read, no barrier fault, no leak"
          : fmt::format("{} reports", result.report_count()),
      result.passed() ? "Passed." : "Failed."));
  return result.passed() ? kDone : kModelProblem;
}

}  // namespace

void add_verify_command(CLI::App& app, Action& action) {
  auto flags = std::make_shared<VerifyCommandFlags>();
  CLI::App* command =
      app.add_subcommand("verify", "run on the emulator with checks and compare the outputs");
  command
      ->add_option("target", flags->request.target,
                   "a folder with model.onnx and test_data_set_N, or an ONNX file")
      ->required()
      ->type_name("FOLDER|MODEL.onnx");
  command->add_option("--data", flags->request.data, "one data set (default: all)")
      ->type_name("test_data_set_N");
  add_binding_flags(*command, flags->model);
  add_planning_flags(*command, flags->request.compile);
  add_building_flags(*command, flags->request.compile);
  command->add_flag("--no-checks", flags->no_checks, "run at full speed, compare outputs only");
  command
      ->add_option("--seed", flags->request.seed,
                   "order of threads, and inputs where there is no data set")
      ->type_name("N");
  command->add_flag("--json", flags->console.json, "one JSON object on stdout");
  command->add_flag("-q,--quiet", flags->console.quiet, "print errors only");
  command->footer(
      "Examples:\n  stitchc verify model_folder\n"
      "  stitchc verify model_folder --data test_data_set_0 --fusion none --contractions own\n"
      "  stitchc verify model.onnx --dim batch=2 --seed 7");
  command->callback([flags, &action] { action = [flags] { return verify(*flags); }; });
}

}  // namespace stitch
