// stitchc check: every unsupported or degraded node at once, before any work.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "command.h"
#include "console.h"
#include "exit_code.h"
#include "frontend/import_onnx.h"
#include "model_flags.h"

namespace stitch {

namespace {

struct CheckFlags {
  ModelFlags model;
  ConsoleOptions console;
};

nlohmann::ordered_json to_json(const CheckReport& report) {
  nlohmann::ordered_json json;
  json["nodes"] = report.node_count;
  json["opset"] = report.opset;
  json["problems"] = nlohmann::ordered_json::array();
  for (const ImportProblem& problem : report.problems)
    json["problems"].push_back({{"node", problem.node},
                                {"op", problem.op},
                                {"reason", problem.reason},
                                {"notes", problem.notes},
                                {"helps", problem.helps}});
  json["notes"] = report.notes;
  return json;
}

int check(const CheckFlags& flags) {
  ImportOptions options = flags.model.import_options();
  options.weights_may_be_absent = true;
  const CheckReport report = check_onnx(flags.model.model, options);
  Console console(flags.console);
  if (console.wants_json()) {
    console.json(to_json(report).dump());
  } else {
    const std::string head =
        fmt::format("{}: {} nodes, opset {}.", flags.model.model.filename().string(),
                    with_thousands(report.node_count), report.opset);
    if (report.problems.empty())
      console.line(head + " No problems.");
    else
      console.line(fmt::format("{} {} problem{}:", head, report.problems.size(),
                               report.problems.size() == 1 ? "" : "s"));
    for (size_t i = 0; i < report.problems.size(); ++i) {
      std::string text = to_string(report.problems[i], "     ");
      text.erase(0, text.find_first_not_of(' '));
      console.line(fmt::format("{:>3}. {}", i + 1, text));
    }
    for (const std::string& note : report.notes) console.note(note);
  }
  return report.problems.empty() ? kDone : kModelProblem;
}

}  // namespace

void add_check_command(CLI::App& app, Action& action) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* command = app.add_subcommand("check", "list every unsupported node before any work");
  add_model_flags(*command, flags->model);
  command->add_flag("--json", flags->console.json, "one JSON object on stdout");
  command->footer("Example:\n  stitchc check model.onnx --dim batch=1");
  command->callback([flags, &action] { action = [flags] { return check(*flags); }; });
}

}  // namespace stitch
