// stitchc: compiles ONNX models to bundles of stitched CUDA kernels.
#include <CLI/CLI.hpp>
#include <cctype>
#include <exception>
#include <string>
#include <vector>

#include "command.h"
#include "exit_code.h"
#include "frontend/name_suggestion.h"
#include "graph/error.h"

namespace {

constexpr const char* kDescription =
    "Compiles an ONNX model to a bundle of stitched CUDA kernels and a launcher library.\n"
    "No Python, no nvcc and no GPU are needed.";

constexpr const char* kExamples =
    "Examples:\n"
    "  stitchc check model.onnx\n"
    "  stitchc compile model.onnx -o bundle --arch sm_80,sm_90 --dim batch=8 --dim seq=128\n"
    "  stitchc inspect bundle\n"
    "  stitchc inspect bundle --source k04_output_layernorm\n"
    "  stitchc verify model_folder\n"
    "  stitchc profile model_folder\n"
    "  stitchc calibrate -o a100.calibration\n"
    "  stitchc run bundle --input ids=ids.npy --device emulator -o results\n"
    "\n"
    "Exit codes: 0 done, 1 the model or the flags, 2 NVRTC or the device, 70 a defect of stitchc.";

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// "did you mean" for a flag or a subcommand that does not exist.
std::string suggestion(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
  if (argc < 2) return {};
  const std::string first = argv[1];
  const auto chosen = app.get_subcommands();
  if (chosen.empty() && first[0] != '-') {
    const auto near = stitch::nearest_name(first, commands);
    return near ? "\nhelp: did you mean 'stitchc " + *near + "'?" : std::string();
  }
  const CLI::App& scope = chosen.empty() ? app : *chosen.front();
  const std::vector<std::string> known = option_names(scope);
  for (int i = 1; i < argc; ++i) {
    std::string given = argv[i];
    given = given.substr(0, given.find('='));
    if (given.rfind("--", 0) != 0 || std::find(known.begin(), known.end(), given) != known.end())
      continue;
    const auto near = stitch::nearest_name(given, known);
    if (near) return "\nhelp: did you mean '" + *near + "'?";
  }
  return {};
}

// What the parser says in the manner of our own messages; it does not name an unknown command.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  std::string message = error.what();
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands().empty())
    message = std::string("there is no command '") + argv[1] + "'";
  else if (message.rfind("--", 0) != 0)
    message[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));
  return message + suggestion(app, argc, argv) +
         "\nhelp: 'stitchc --help' and 'stitchc COMMAND --help' show every flag";
}

int fail(const std::string& message, int code) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(kDescription, "stitchc");
  app.footer(kExamples);
  app.set_version_flag("--version", std::string("stitchc ") + STITCHC_VERSION);
  app.require_subcommand(1);
  stitch::Action action;
  stitch::add_compile_command(app, action);
  stitch::add_check_command(app, action);
  stitch::add_plan_command(app, action);
  stitch::add_inspect_command(app, action);
  stitch::add_run_command(app, action);
  stitch::add_profile_command(app, action);
  stitch::add_verify_command(app, action);
  stitch::add_calibrate_command(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& version) {
    return app.exit(version);
  } catch (const CLI::ParseError& error) {
    return fail(usage_error(app, error, argc, argv), stitch::kModelProblem);
  }
  try {
    return action();
  } catch (const stitch::ModelError& error) {
    return fail(error.what(), stitch::kModelProblem);
  } catch (const stitch::DeviceError& error) {
    return fail(error.what(), stitch::kDeviceProblem);
  } catch (const std::bad_alloc&) {
    return fail("out of memory", stitch::kDeviceProblem);
  } catch (const std::exception& error) {
    return fail(std::string(error.what()) +
                    "\nnote: this is a defect of stitchc; please report it with the model and the "
                    "command",
                stitch::kOurBug);
  }
}
