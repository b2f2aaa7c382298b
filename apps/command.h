// A subcommand: its flags are added to the CLI, and its action runs when it was chosen.
#pragma once
#include <CLI/App.hpp>
#include <functional>

namespace stitch {

// Set by the subcommand that was parsed; returns the exit code.
using Action = std::function<int()>;

void add_calibrate_command(CLI::App& app, Action& action);
void add_check_command(CLI::App& app, Action& action);
void add_compile_command(CLI::App& app, Action& action);
void add_inspect_command(CLI::App& app, Action& action);
void add_plan_command(CLI::App& app, Action& action);
void add_profile_command(CLI::App& app, Action& action);
void add_run_command(CLI::App& app, Action& action);
void add_verify_command(CLI::App& app, Action& action);

}  // namespace stitch
